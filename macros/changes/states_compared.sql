{#
    The two states that `before` and `after` name, as mappings: side, schema, tiers, datasets,
    and the existing relations. None while dbt parses.
#}
{% macro states_compared() %}
    {{ return(adapter.states_compared(var('before'), var('after'), secure_datasets.rows_of) if execute else none) }}
{% endmacro %}
