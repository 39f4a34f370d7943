{#
    Prints all problems of the config, of the documentation that it is compared with, of the feeds
    and, with `replica`, of the raw tables; fails if there is a problem. Without `replica` Spark does
    not start.

    Call     dbt run-operation check_project
    replica  whether to check the raw tables, too
#}
{% macro check_project(replica=false) %}
    {%- do secure_datasets.check_adapter() -%}
    {%- set config, tables = secure_datasets.secure_datasets_config(), secure_datasets.repository_tables() -%}
    {%- do secure_datasets.check_names() -%}
    {%- do secure_datasets.check_vars() -%}
    {%- do secure_datasets.check_models() -%}
    {%- set datasets = adapter.secure_datasets() -%}
    {%- set found = datasets.columns_of_raw(tables, secure_datasets.absent_tables(), graph.sources, adapter.raw_columns) if replica else none -%}
    {%- set mistakes = datasets.mistakes(config, graph.nodes, tables, var('feeds'), var('raw_schema'), found) -%}
    {%- for line in datasets.told_mistakes(mistakes, var('raw_schema'), replica) -%}
        {{ print(line) }}
    {%- endfor -%}
{% endmacro %}
