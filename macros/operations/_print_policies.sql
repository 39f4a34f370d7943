{# Prints the number of rows that each policy and each security object hides, shows or masks for a user. #}
{% macro _print_policies(user_id, without_past) %}
    {%- set config = secure_datasets.secure_datasets_config() -%}
    {%- set rules = adapter.rules_by_exists(secure_datasets, ref, config) -%}
    {%- set rows = adapter.access_questions().rows_by_rule(rules, user_id, without_past, run_query) -%}
    {%- if rows -%}
        {% do secure_datasets.print_table(['secure dataset', 'rule', 'what it does', 'rows'], rows, align='left') %}
    {%- endif -%}
{% endmacro %}
