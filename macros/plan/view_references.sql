{#
    The views under view authorization and their inputs, from dbt's graph. Such a view has an
    owner in its config (`meta: {owner_user_id: 12}`); some secure datasets are among them.

    Returns
        views   rows of view
        gates   rows of view, owner, object: each view of the chain to the rows, itself
                included, with its direct inputs; the owner is none if that view has none.
                For a secure dataset under view authorization, the inputs are the sources of
                its rows, without the relations that decide who sees them
        tables  rows of view, table: the ends of its chains, where rows are stored
#}
{% macro view_references() %}
    {%- set objects = secure_datasets.graph_objects() -%}
    {%- set views, gates, tables = [], [], [] -%}
    {%- for unique_id, object in objects.items() if object.object_type == 'VIEW' and secure_datasets._is_authorized(object.node) -%}
        {%- set name = secure_datasets.authorized_name(object.node) -%}
        {% do views.append([name]) %}
        {%- for link in secure_datasets._chain_of_views(unique_id, objects, [unique_id]) -%}
            {%- for parent in secure_datasets._rows_read(objects[link], objects) -%}
                {%- set read = secure_datasets.authorized_name(objects[parent].node) -%}
                {% do gates.append([name, secure_datasets._owner_of(objects[link].node), read]) %}
                {%- if objects[parent].object_type != 'VIEW' and [name, read] not in tables -%}
                    {% do tables.append([name, read]) %}
                {%- endif -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return({'views': views, 'gates': gates, 'tables': tables}) }}
{% endmacro %}


{# The unique ids of a view's inputs; for a secure dataset, only the sources of its rows. #}
{% macro _rows_read(object, objects) %}
    {%- set names = object.node.config.get('meta', {}).get('rows_from') -%}
    {%- if names is none -%}
        {{ return(object.reads | select('in', objects) | list) }}
    {%- endif -%}
    {%- set found = [] -%}
    {%- for parent in object.node.depends_on.nodes if parent in objects and objects[parent].node.name in names -%}
        {# The inputs of an ephemeral model are its readers'. #}
        {% do found.extend([parent] if objects[parent].object_type else objects[parent].reads | select('in', objects)) %}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# A view and the views behind it, at any distance. #}
{% macro _chain_of_views(unique_id, objects, found) %}
    {%- for parent in secure_datasets._rows_read(objects[unique_id], objects) if objects[parent].object_type == 'VIEW' and parent not in found -%}
        {% do found.append(parent) %}
        {% do secure_datasets._chain_of_views(parent, objects, found) %}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# Whether a view is under view authorization; a secure dataset that is must have an owner. #}
{% macro _is_authorized(node) %}
    {%- set owner = secure_datasets._owner_of(node) -%}
    {%- if owner is none and node.config.get('meta', {}).get('rows_from') -%}
        {{ exceptions.raise_compiler_error(
            "'" ~ node.name ~ "' is under view authorization and has no owner, so that nobody could"
            ~ ' read it: its model needs meta: {owner_user_id: ...}.'
        ) }}
    {%- endif -%}
    {{ return(owner is not none) }}
{% endmacro %}


{# The user id of a model's owner as text; none without one. #}
{% macro _owner_of(node) %}
    {%- set owner = node.config.get('meta', {}).get('owner_user_id') -%}
    {%- if owner is not none and owner is not integer -%}
        {{ exceptions.raise_compiler_error(
            "owner_user_id of '" ~ node.name ~ "' is " ~ owner ~ '; it must be a user id.'
        ) }}
    {%- endif -%}
    {{ return(none if owner is none else owner | string) }}
{% endmacro %}
