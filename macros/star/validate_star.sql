{#
    Checks the config's relations, row-security objects and relationships.

    config  the document of secure_datasets_config()
#}
{% macro validate_star(config) %}
    {%- set relations = config.get('relations', {}) -%}
    {#- The steps of rows_under_policies() stand beside the objects. -#}
    {%- set taken = [
        'held_roles_of_users', 'tier_rows', 'authorized_rows', 'secured_rows', 'rows_with_roles', 'visible_rows'
    ] -%}
    {%- if relations is not mapping -%}
        {% do _config_error('the config', "'relations' must map names to entries") %}
    {%- endif -%}
    {% do _check_names('the config', 'relations', relations | list, may_be_empty=true) %}
    {%- for name, relation in relations.items() -%}
        {% do _check_relation("relation '" ~ name ~ "'", relation) %}
    {%- endfor -%}
    {%- for object in _list_of(config, 'row_security') -%}
        {%- set entry = 'row_security ' ~ loop.index -%}
        {% do _check_row_security(entry, object, relations) %}
        {%- if object.unique_name in taken -%}
            {% do _config_error(entry, "the unique_name '" ~ object.unique_name ~ "' is there already") %}
        {%- endif -%}
        {% do taken.append(object.unique_name) %}
    {%- endfor -%}
    {%- for link in _list_of(config, 'relationships') -%}
        {% do _check_relationship('relationship ' ~ loop.index, link, relations, config.get('row_security', [])) %}
    {%- endfor -%}
{% endmacro %}


{# A model or seed that the star is made of, with its columns and their types. #}
{% macro _check_relation(entry, relation) %}
    {% do _check_keys(entry, relation, required=['kind', 'columns'], optional=['levels']) %}
    {%- if relation.kind not in ['fact', 'dimension', 'mapping'] -%}
        {% do _config_error(entry, "'kind' must be fact, dimension or mapping") %}
    {%- endif -%}
    {%- if relation.columns is not mapping -%}
        {% do _config_error(entry, "'columns' must map names to types") %}
    {%- endif -%}
    {% do _check_names(entry, 'columns', relation.columns | list) %}
    {%- for column, type in relation.columns.items() if type is not string -%}
        {% do _config_error(entry, "the column '" ~ column ~ "' has no type") %}
    {%- endfor -%}
    {%- if 'levels' in relation -%}
        {%- if relation.levels is string or relation.levels is mapping or relation.levels is not sequence -%}
            {% do _config_error(entry, "'levels' must be a list of lists of columns, the lowest level first") %}
        {%- endif -%}
        {%- for level in relation.levels -%}
            {% do _check_names(entry, 'levels', level) %}
        {%- endfor -%}
        {% do _check_columns(entry, 'levels', relation.levels | sum(start=[]), relation.columns) %}
        {% do _check_names(entry, 'levels', relation.levels | sum(start=[])) %}
    {%- endif -%}
{% endmacro %}


{# A row-security object. #}
{% macro _check_row_security(entry, object, relations) %}
    {% do _check_keys(
        entry, object,
        required=[
            'unique_name', 'object_type', 'label', 'dataset', 'filter_key_column',
            'ids_column', 'id_type', 'scope',
        ],
        optional=['description', 'use_filter_key', 'secure_totals']
    ) %}
    {%- for key, value in object.items() -%}
        {%- if key in ['use_filter_key', 'secure_totals'] -%}
            {%- if value is not boolean -%}
                {% do _config_error(entry, "'" ~ key ~ "' must be true or false") %}
            {%- endif -%}
        {%- elif value is not string -%}
            {% do _config_error(entry, "'" ~ key ~ "' must be a text") %}
        {%- endif -%}
    {%- endfor -%}
    {% do _check_names(entry, 'unique_name', [object.unique_name]) %}
    {%- for key, known in {
        'object_type': ['row_security'],
        'id_type': ['user', 'group', 'username', 'groupname'],
        'scope': ['related', 'fact', 'all'],
    }.items() if object[key] not in known -%}
        {% do _config_error(entry, "'" ~ key ~ "' must be " ~ (known[:2] if key == 'id_type' else known) | join(' or ') ~ ", not '" ~ object[key] ~ "'") %}
    {%- endfor -%}
    {%- set columns = _columns_of_relation(entry, object.dataset, relations) -%}
    {%- for key in ['filter_key_column', 'ids_column'] if object[key] not in columns -%}
        {% do _config_error(entry, "'" ~ key ~ "' names '" ~ object[key] ~ "', which is not a column of '" ~ object.dataset ~ "'") %}
    {%- endfor -%}
    {%- if columns[object.ids_column] != 'bigint' -%}
        {% do _config_error(entry, "'ids_column' must be a bigint, as the ids of users and groups are") %}
    {%- endif -%}
{% endmacro %}


{# A relationship: from columns of a relation to the same of another, or to a key. #}
{% macro _check_relationship(entry, link, relations, objects) %}
    {% do _check_keys(entry, link, required=['from', 'to']) %}
    {%- set near = link['from'] -%}
    {% do _check_keys(entry ~ ', from', near, required=['dataset', 'join_columns']) %}
    {% do _check_keys(entry ~ ', to', link.to, required=[], optional=['dataset', 'row_security']) %}
    {%- if link.to | length != 1 -%}
        {% do _config_error(entry ~ ', to', "must have either 'dataset' or 'row_security'") %}
    {%- endif -%}
    {%- set columns = _columns_of_relation(entry ~ ', from', near.dataset, relations) -%}
    {% do _check_names(entry ~ ', from', 'join_columns', near.join_columns) %}
    {% do _check_columns(entry ~ ', from', 'join_columns', near.join_columns, columns) %}
    {%- if 'dataset' in link.to -%}
        {%- set far = _columns_of_relation(entry ~ ', to', link.to.dataset, relations) -%}
        {%- for column in near.join_columns if far.get(column) != columns[column] -%}
            {% do _config_error(entry, "'join_columns' don't fit: '" ~ link.to.dataset ~ "' has no column '" ~ column ~ "' of the type " ~ columns[column]) %}
        {%- endfor -%}
    {%- else -%}
        {%- set object = objects | selectattr('unique_name', 'equalto', link.to.row_security) | first -%}
        {%- if not object -%}
            {% do _config_error(entry ~ ', to', "unknown row_security '" ~ link.to.row_security ~ "'") %}
        {%- endif -%}
        {%- set key_type = relations[object.dataset].columns[object.filter_key_column] -%}
        {%- if near.join_columns | length != 1 or columns[near.join_columns[0]] != key_type -%}
            {% do _config_error(entry, "'join_columns' don't fit: the filter key of '" ~ object.unique_name ~ "' is one column of the type " ~ key_type) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{# The columns of a relation of the config. #}
{% macro _columns_of_relation(entry, name, relations) %}
    {%- if name is not string or name not in relations -%}
        {% do _config_error(entry, "unknown dataset '" ~ name ~ "': it must be a model or seed among 'relations', known are " ~ relations | join(', ')) %}
    {%- endif -%}
    {{ return(relations[name].columns) }}
{% endmacro %}
