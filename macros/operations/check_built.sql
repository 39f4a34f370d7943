{#
    Stops an operation with one sentence where something that it asks is not there: no run has
    built it, or another target's has.

    operation  its name
    ahead      what staged_since() says of what it asks
#}
{% macro check_built(operation, ahead) %}
    {%- if ahead.not_built -%}
        {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed']) -%}
        {%- set schema = (nodes | selectattr('name', 'equalto', ahead.not_built[0]) | first).schema -%}
        {% do adapter.access_questions().not_built(operation, ahead.not_built, schema) %}
    {%- endif -%}
{% endmacro %}
