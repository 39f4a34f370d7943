{#
    Holds the keys of a dataset's tier against the documentation of its base, which says of
    each column what it refers to: `meta: {refers_to: <the model with a row for each>}`, or
    `nothing`, and `is_optional: true` where null means that there is none. The laws about the
    tiers read the config itself, so that a wrong key in it is seen by nothing else:

    - a key refers to what the tier's own key refers to, and is not optional,
    - the one column by which the second side differs is optional,
    - any other column that refers to what a tier asks for a right on, by itself, by a dimension of it or
      by a data test of relationships, stands in `unchecked`,
    - of a tier, the key that its right is on refers to the raw table of that type of object,
    - the ids of row security refer to users or groups, as its `id_type` says, and its keys to what the
      columns refer to that lead to them. Here a data test of relationships says it, too; a map is often
      the customer's own, and of columns that say nothing nothing is known.

    Called where a secure dataset is compiled: while dbt parses it knows no documentation.

    name      the dataset
    config    the document of secure_datasets_config()
#}
{% macro check_references(name, config) %}
    {%- set dataset, documented, secured = config.datasets[name], secure_datasets._documented_columns(), [] -%}
    {%- set tested, objects = secure_datasets._tested_references(documented), secure_datasets._objects_of_rows(documented) -%}
    {%- for tier in config.tiers.values() -%}
        {%- for key in tier.object_keys -%}
            {%- do secured.append(secure_datasets._reference("tier of '" ~ tier.access_view ~ "'", tier.access_view, key, documented).refers_to) -%}
        {%- endfor -%}
        {% do secure_datasets._check_right_refers(tier, documented) %}
    {%- endfor -%}
    {% do secure_datasets._check_objects_refer(config, documented, tested) %}
    {%- for value, rule in (dataset.switch.cases if dataset.switch is defined else {none: dataset}).items() if rule.tier is defined -%}
        {%- set entry = "dataset '" ~ name ~ "'" ~ (", case '" ~ value ~ "'" if dataset.switch is defined else '') -%}
        {% do secure_datasets._check_all_say(entry, dataset, documented, tested) %}
        {% do secure_datasets._check_keys_refer(entry, dataset.base, rule, config.tiers[rule.tier], documented) %}
        {% do secure_datasets._check_unchecked_refer(entry, dataset, rule, secured, documented, tested, objects) %}
    {%- endfor -%}
{% endmacro %}


{# Stops with all columns of a base that must say what they refer to, and do not. #}
{% macro _check_all_say(entry, dataset, documented, tested) %}
    {%- set says, tests, silent = documented.get(dataset.base, {}), tested.get(dataset.base, {}), [] -%}
    {%- for column in dataset.columns if column.endswith('_id') and not says.get(column) and column not in tests -%}
        {% do silent.append(column) %}
    {%- endfor -%}
    {%- if silent -%}
        {% do secure_datasets._must_say(entry, dataset.base, silent) %}
    {%- endif -%}
{% endmacro %}


{# Stops with columns that do not say what they refer to, and what to write. #}
{% macro _must_say(entry, model, columns) %}
    {% do secure_datasets.config_error(entry, "the documentation of '" ~ model ~ "' does not say what '" ~ columns | join("', '") ~ "' " ~ ('refers' if columns | length == 1 else 'refer')
        ~ ' to: write at each such column `config: {meta: {refers_to: <the model with a row for each>}}`, such as stg_projects, or `config: {meta: {refers_to: nothing}}` where it is the id of nothing that a tier is about') %}
{% endmacro %}


{# Whether the key that a tier's right is on is an id of the right's type of object. #}
{% macro _check_right_refers(tier, documented) %}
    {%- if tier.right is defined -%}
        {%- set entry, right = "tier of '" ~ tier.access_view ~ "'", tier.right -%}
        {%- set key = right.get('key') or tier.object_keys[0] -%}
        {%- set found = secure_datasets._reference(entry, tier.access_view, key, documented).refers_to -%}
        {#- Of a type that the raw tables hold no permissions on, nothing is known here. -#}
        {%- for table in secure_datasets.repository_tables().values() if table.holder and table.object_type == right.object_type -%}
            {%- set asked = 'stg_' ~ table.references[table.required[0]] -%}
            {%- if found != asked -%}
                {% do secure_datasets.config_error(entry, "'right' is on a " ~ right.object_type ~ ", and by the documentation of '" ~ tier.access_view ~ "' its key '" ~ key ~ "' refers to " ~ found ~ ', not to ' ~ asked) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# Whether the keys of both sides refer to what the tier's keys refer to. #}
{% macro _check_keys_refer(entry, base, rule, tier, documented) %}
    {%- set optional = rule.second_side.unless_null if rule.second_side is defined -%}
    {%- for side in [rule['keys'], rule.get('second_side', {}).get('keys', {})] -%}
        {%- for key, column in side.items() -%}
            {%- set asked = secure_datasets._reference(entry, tier.access_view, key, documented) -%}
            {%- set found = secure_datasets._reference(entry, base, column, documented) -%}
            {%- if found.refers_to != asked.refers_to -%}
                {% do secure_datasets.config_error(entry, "'keys' has '" ~ column ~ "' for '" ~ key ~ "', and by the documentation of '" ~ base ~ "' it refers to " ~ found.refers_to ~ ', not to ' ~ asked.refers_to) %}
            {%- endif -%}
            {%- if found.is_optional and column != optional -%}
                {% do secure_datasets.config_error(entry, "'keys' has '" ~ column ~ "', which by the documentation of '" ~ base ~ "' is optional: rows without it would be seen by nobody. It belongs into 'second_side'") %}
            {%- elif column == optional and not found.is_optional -%}
                {% do secure_datasets.config_error(entry, "'unless_null' names '" ~ column ~ "', which by the documentation of '" ~ base ~ "' is not optional: rows without it would be seen without that right") %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}


{# Whether each column that could ask for a right is a key, or is left unchecked on purpose. #}
{% macro _check_unchecked_refer(entry, dataset, rule, secured, documented, tested, objects) %}
    {%- set unchecked = rule.get('unchecked', {}) -%}
    {%- set checked = secure_datasets.deciding_columns({'rule': rule}) -%}
    {%- set says, tests = documented.get(dataset.base, {}), tested.get(dataset.base, {}) -%}
    {%- for column in dataset.columns if column.endswith('_id') or column in unchecked or column in says or column in tests -%}
        {%- set said = secure_datasets._reference(entry, dataset.base, column, documented).refers_to if column in says or column not in tests else none -%}
        {%- set object = secure_datasets._object_of(said, objects) -%}
        {%- if said and column in tests and tests[column] not in [said, object] and (tests[column] in secured or object in secured) -%}
            {% do secure_datasets.config_error(entry, "'" ~ column ~ "' refers to " ~ said ~ " by the documentation of '" ~ dataset.base ~ "', and to " ~ tests[column] ~ ' by its data test of relationships') %}
        {%- endif -%}
        {%- set refers_to = object if said else tests[column] -%}
        {%- if refers_to in secured and column not in checked and column not in unchecked -%}
            {% do secure_datasets.config_error(entry, "'" ~ column ~ "' refers to " ~ refers_to ~ ", which a tier asks for a right on, and nothing checks it: it must be among the keys, of the second side too, or stand in 'unchecked' with the reason") %}
        {%- elif refers_to not in secured and column in unchecked -%}
            {% do secure_datasets.config_error(entry, "'unchecked' names '" ~ column ~ "', which refers to " ~ refers_to ~ ': no tier asks for a right on that') %}
        {%- endif -%}
    {%- endfor -%}
{% endmacro %}


{#
    By model, what its rows are rows of: what its one column refers to of which a data test says
    that it is unique, as a dimension's key does.
#}
{% macro _objects_of_rows(documented) %}
    {%- set keys, objects = {}, {} -%}
    {%- for test in graph.nodes.values() if test.attached_node in graph.nodes and test.test_metadata.name == 'unique' -%}
        {%- do keys.setdefault(graph.nodes[test.attached_node].name, {}).update({test.column_name: true}) -%}
    {%- endfor -%}
    {%- for model, columns in keys.items() if columns | length == 1 -%}
        {%- set refers_to = documented.get(model, {}).get(columns | first, {}).refers_to -%}
        {%- if refers_to and refers_to != 'nothing' -%}
            {%- do objects.update({model: refers_to}) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(objects) }}
{% endmacro %}


{# The object that a model has a row for, perhaps by way of others; else the model itself. #}
{% macro _object_of(model, objects) %}
    {%- set found = [model] -%}
    {%- for _ in objects -%}
        {%- set above = objects.get(found[-1]) -%}
        {%- do found.append(above) if above and above not in found -%}
    {%- endfor -%}
    {{ return(found[-1]) }}
{% endmacro %}


{# Whether the ids and the keys of row security are of what they are compared with. #}
{% macro _check_objects_refer(config, documented, tested) %}
    {%- for object in config.row_security or [] -%}
        {%- set entry = "row_security '" ~ object.unique_name ~ "'" -%}
        {%- set asked = {'user': 'stg_users', 'group': 'stg_user_groups'}[object.holder] -%}
        {%- set ids = secure_datasets._known_reference(entry, object.dataset, object.ids_column, documented, tested) -%}
        {%- if ids not in [none, asked] -%}
            {% do secure_datasets.config_error(entry, "its 'id_type' is " ~ object.holder ~ ", and by the documentation of '" ~ object.dataset ~ "' its ids_column '" ~ object.ids_column ~ "' refers to " ~ ids ~ ', not to ' ~ asked) %}
        {%- endif -%}
        {%- set key = secure_datasets._known_reference(entry, object.dataset, object.filter_key_column, documented, tested) -%}
        {%- for link in config.relationships if link.to.row_security == object.unique_name -%}
            {%- set near, column = link.from.dataset, link.from.join_columns[0] -%}
            {%- set found = secure_datasets._known_reference(entry, near, column, documented, tested) -%}
            {%- if none not in [key, found] and found != key -%}
                {% do secure_datasets.config_error(entry, "a relationship leads to it from '" ~ near ~ '.' ~ column ~ "', which by its documentation refers to " ~ found ~ ", and its filter_key_column '" ~ object.filter_key_column ~ "' refers to " ~ key) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
{% endmacro %}


{# What a column refers to, by its documentation or else by its data test; none where both say nothing. #}
{% macro _known_reference(entry, model, column, documented, tested) %}
    {%- if column in documented.get(model, {}) -%}
        {{ return(secure_datasets._reference(entry, model, column, documented).refers_to) }}
    {%- endif -%}
    {{ return(tested.get(model, {}).get(column)) }}
{% endmacro %}


{#
    By model and column, what data tests of relationships say that it refers to: the raw table
    whose key it is tested against, or else what that other column says it refers to.
#}
{% macro _tested_references(documented) %}
    {%- set found, keys = {}, {} -%}
    {%- for table in secure_datasets.repository_tables().values() -%}
        {%- do keys.update({'stg_' ~ table.name: table.key}) -%}
    {%- endfor -%}
    {%- for test in graph.nodes.values() if test.attached_node in graph.nodes and test.test_metadata.name == 'relationships' -%}
        {%- for parent in test.depends_on.nodes if parent in graph.nodes and parent != test.attached_node -%}
            {%- set name, field = graph.nodes[parent].name, test.test_metadata.kwargs.field -%}
            {%- set refers_to = name if keys.get(name) == field else documented.get(name, {}).get(field, {}).refers_to -%}
            {%- if refers_to -%}
                {%- do found.setdefault(graph.nodes[test.attached_node].name, {}).update({test.column_name: refers_to}) -%}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# What a column's documentation says that it refers to. #}
{% macro _reference(entry, model, column, documented) %}
    {%- set said = documented.get(model, {}).get(column) -%}
    {%- if not said -%}
        {% do secure_datasets._must_say(entry, model, [column]) %}
    {%- endif -%}
    {%- if said.refers_to != 'nothing' and said.refers_to not in documented -%}
        {% do secure_datasets.config_error(entry, "the documentation of '" ~ model ~ "' says that '" ~ column ~ "' refers to '" ~ said.refers_to ~ "', and there is no such model or seed") %}
    {%- endif -%}
    {{ return(said) }}
{% endmacro %}


{# By model and seed, the columns that say what they refer to, with their `meta`. #}
{% macro _documented_columns() %}
    {%- set documented = {} -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed', 'snapshot'] -%}
        {%- set columns = {} -%}
        {%- for name, column in node.columns.items() if 'refers_to' in column.get('config', {}).get('meta', {}) -%}
            {%- do columns.update({name: column.config.meta}) -%}
        {%- endfor -%}
        {%- do documented.update({node.name: columns}) -%}
    {%- endfor -%}
    {{ return(documented) }}
{% endmacro %}
