{#
    Stops dbt, before anything is built, at the first invalid variable about readers: it checks
    values while dbt parses, and the catalogue before a run.
#}
{% macro check_readers_vars() %}
    {%- do adapter.secure_datasets().check_readers_vars({
        'readers_views': var('readers_views'), 'readers_functions': var('readers_functions'),
        'reader_accounts': var('reader_accounts'), 'reader_applications': var('reader_applications'),
    }) -%}
    {%- if var('readers_views') or var('readers_functions') -%}
        {% do secure_datasets.readers_names() %}
    {%- endif -%}
    {%- if not execute or var('as_of', var('before', none)) is not none -%}
        {{ return('') }}
    {%- endif -%}
    {%- if (var('readers_views') or var('readers_functions')) and flags.WHICH in ['build', 'clone', 'retry', 'run', 'run-operation'] -%}
        {% do secure_datasets._check_engine_of_readers() %}
    {%- endif -%}
    {%- if not var('readers_views') -%}
        {% do secure_datasets._check_that_views_are_not_forgotten() %}
    {%- elif flags.WHICH in ['build', 'clone', 'retry', 'run', 'run-operation'] -%}
        {% do secure_datasets._check_columns_of_accounts(var('reader_accounts')) %}
        {% do secure_datasets._check_grants_of_plain_datasets() %}
    {%- endif -%}
{% endmacro %}


{#
    Stops dbt where a view calls a reader's own temporary function in the place of Spark's of that name:
    before Spark 4.2, which brought the first of these functions. Databricks has the second.
#}
{% macro _check_engine_of_readers() %}
    {%- if not secure_datasets._engine_has('current_path|current_metastore') -%}
        {%- for name in ['readers_views', 'readers_functions'] if var(name) -%}
            {% do secure_datasets._readers_error(name, "needs Spark 4.2 or newer: in views of this one a reader's own temporary function stands before Spark's of the same name, and shows hidden rows. Leave it out, and let nobody but an application ask the datasets, by a filter on user_id") %}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}


{# Stops dbt with a sentence about one of the variables. #}
{% macro _readers_error(name, problem) %}
    {{ exceptions.raise_compiler_error('vars: ' ~ name ~ ' ' ~ problem ~ '.') }}
{% endmacro %}


{# A relation of the project's own may be built by this very run. #}
{% macro _check_columns_of_accounts(accounts) %}
    {%- set built = graph.nodes.values() | selectattr('relation_name', 'defined')
        | selectattr('relation_name', 'equalto', accounts) | list -%}
    {%- set schema, name = adapter.secure_datasets().schema_and_name(accounts) -%}
    {%- set relation = adapter.get_relation(target.database, schema, name) -%}
    {%- if relation is none -%}
        {%- if not built -%}
            {% do secure_datasets._readers_error('reader_accounts', 'names ' ~ accounts ~ ', which does not exist') %}
        {%- endif -%}
        {{ return('') }}
    {%- endif -%}
    {%- set types = {} -%}
    {%- for column in adapter.get_columns_in_relation(relation) -%}
        {% do types.update({column.column | lower: column.dtype}) %}
    {%- endfor -%}
    {%- if types.get('account') != 'string' or types.get('user_id') not in ['bigint', 'int'] -%}
        {% do secure_datasets._readers_error('reader_accounts', 'names ' ~ accounts ~ ', which needs the columns account, a string, and user_id, a bigint') %}
    {%- endif -%}
{% endmacro %}


{#
    Warns of an accounts table in files: a session remembers the files of a table, and does not see
    rows that are loaded later, such as a second user of an account. Formats such as Delta are read
    anew each time, and a relation that this project publishes gets a new version name.
#}
{% macro _warn_of_accounts_in_files(accounts) %}
    {%- set schema, name = adapter.secure_datasets().schema_and_name(accounts | lower) -%}
    {%- set told = adapter.definitions(schema, name).get(name, '') | lower -%}
    {%- for format in ['avro', 'csv', 'hive', 'json', 'orc', 'parquet', 'text'] if 'provider: ' ~ format in told -%}
        {% do exceptions.warn(
            'reader_accounts names ' ~ accounts ~ ', a table in files: a session that has read it goes on reading the'
            ~ ' files that it knew. Let it be a published_view, or of a format that is read anew, such as Delta or Iceberg.'
        ) %}
    {%- endfor -%}
{% endmacro %}


{#
    With the views, the roles in `readers` are granted these and no longer the plain
    datasets. dbt_project.yml, which has the grants, can't see its own vars; grants to further
    roles need none.
#}
{% macro _check_grants_of_plain_datasets() %}
    {%- set readers = var('readers', []) or [] -%}
    {%- for node in secure_datasets._plain_datasets_granted() -%}
        {%- set others = (node.config.get('grants') or {}).values() | sum(start=[]) | reject('in', readers) | unique | list -%}
        {%- if others -%}
            {% do secure_datasets._readers_error('readers_views', "gives readers their views, and by `grants` in dbt_project.yml '" ~ others | join("', '")
                ~ "' would be granted " ~ node.relation_name ~ ' beside them, which filters nothing: take these grants away') %}
        {%- endif -%}
        {% do secure_datasets._readers_error('readers_views', 'must stand in `--vars` beside `readers`, and `grants` in dbt_project.yml ask for both: else these would be granted '
            ~ node.relation_name ~ ' too, which filters nothing') %}
    {%- endfor -%}
{% endmacro %}


{#
    Stops a run without the variable if readers' views exist and it would grant plain datasets: such a
    run keeps the views, and their readers would get the plain datasets beside them.
#}
{% macro _check_that_views_are_not_forgotten() %}
    {%- set granted = secure_datasets._plain_datasets_granted() if flags.WHICH in ['build', 'run'] else [] -%}
    {%- if granted and secure_datasets.has_readers_views() -%}
        {% do secure_datasets._readers_error('readers_views', "is not true, and readers' views are there: " ~ granted[0].relation_name
            ~ ', which filters nothing, would be granted beside them. Give `readers_views: true` in `--vars` too, or, if the views are to go,'
            ~ ' drop them first by dbt run-operation publish_readers_objects') %}
    {%- endif -%}
{% endmacro %}


{#
    The plain datasets that a run would grant by `grants`, by whichever privilege: the engine knows more
    of them that let one read, in any letters.
#}
{% macro _plain_datasets_granted() %}
    {%- set granted = [] -%}
    {%- for node in graph.nodes.values() -%}
        {%- if (node.config.get('grants') or {}).values() | select | list -%}
            {% do granted.append(node) %}
        {%- endif -%}
    {%- endfor -%}
    {#- Most projects grant nothing, so the names of their datasets are not needed. -#}
    {%- set plain = secure_datasets.readers_names().values() | list if granted else [] -%}
    {{ return(granted | selectattr('name', 'in', plain) | list) }}
{% endmacro %}
