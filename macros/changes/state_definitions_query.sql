{# Renders the definitions of a state: its tiers and secure datasets in the config at the time of the build. #}
{% macro state_definitions_query() -%}
{%- set rules = adapter.rules_by_exists(secure_datasets, ref, secure_datasets.secure_datasets_config()) -%}
{{ adapter.access_changes().definitions(rules, secure_datasets.repository_tables(), adapter.product_version()) }}
{%- endmacro %}
