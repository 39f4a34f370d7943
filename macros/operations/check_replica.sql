{#
    Prints all problems of the raw tables in the replica, each with the remedy: missing tables and
    columns, unsupported types, and columns that mark a row as deleted and that no feed reads. Fails
    if there is a problem.

    Call    dbt run-operation check_replica
#}
{% macro check_replica() %}
    {%- do secure_datasets.check_adapter() -%}
    {%- do secure_datasets._check_raw_tables(secure_datasets.repository_tables()) -%}
    {{ print('The raw tables in ' ~ var('raw_schema') ~ ' can be read as declared.') }}
{% endmacro %}


{# Stops dbt if raw tables have a problem. #}
{% macro _check_raw_tables(names) %}
    {% do adapter.secure_datasets().check_replica(secure_datasets._columns_of_raw(names), var('raw_schema'), var('feeds'), secure_datasets.repository_tables()) %}
{% endmacro %}


{# The columns of raw tables with their types, by table; none where the table is not there. #}
{% macro _columns_of_raw(names) %}
    {%- set found = {} -%}
    {%- for name in names if name not in secure_datasets.absent_tables() and secure_datasets._source_of(name) -%}
        {% do found.update({name: adapter.raw_columns(secure_datasets._source_of(name))}) %}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The relation of a raw table as the project's sources name it. #}
{% macro _source_of(name) %}
    {%- set node = graph.sources.values() | selectattr('package_name', 'equalto', 'secure_datasets')
        | selectattr('name', 'equalto', name) | first -%}
    {{ return(node.relation_name if node else none) }}
{% endmacro %}
