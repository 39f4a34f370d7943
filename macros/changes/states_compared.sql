{#
    The two states that `before` and `after` name, as mappings: side, schema, tiers, datasets,
    and the existing relations. None while dbt parses. A concurrent run may change a state, so every
    read checks them again.
#}
{% macro states_compared() %}
    {%- if not execute -%}
        {{ return(none) }}
    {%- endif -%}
    {%- do adapter.check_states(var('before'), var('after')) -%}
    {%- set states = [] -%}
    {%- for side in ['before', 'after'] -%}
        {%- set schema = var(side) | lower -%}
        {%- set rows = secure_datasets.rows_of('select kind, name, definition from ' ~ schema ~ '.state_definitions') -%}
        {% do states.append(adapter.access_changes().state(side, schema, rows, adapter.definitions(schema))) %}
    {%- endfor -%}
    {{ return(states) }}
{% endmacro %}
