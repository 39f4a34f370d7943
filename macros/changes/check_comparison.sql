{# Called before anything starts: stops dbt if `before` and `after` name states that can't be compared. #}
{% macro check_comparison() %}
    {%- set before, after = var('before', none), var('after', none) -%}
    {%- if execute and (before is not none or after is not none) -%}
        {% do adapter.check_comparison(
            before, after, limits_are_of_base=var('limits_are_of_base'), **adapter.access_changes().asked_of(graph.nodes, selected_resources)
        ) %}
    {%- endif -%}
{% endmacro %}
