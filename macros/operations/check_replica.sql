{#
    Prints all problems of the raw tables in the replica, each with the remedy: missing tables and
    columns, unsupported types, and columns that mark a row as deleted and that no feed reads. Fails
    if there is a problem.

    Call    dbt run-operation check_replica
#}
{% macro check_replica() %}
    {%- do secure_datasets.check_adapter() -%}
    {%- set tables, datasets = secure_datasets.repository_tables(), adapter.secure_datasets() -%}
    {%- set found = datasets.columns_of_raw(tables, secure_datasets.absent_tables(), graph.sources, adapter.raw_columns) -%}
    {%- do datasets.check_replica(found, var('raw_schema'), var('feeds'), tables) -%}
    {{ print('The raw tables in ' ~ var('raw_schema') ~ ' can be read as declared.') }}
{% endmacro %}
