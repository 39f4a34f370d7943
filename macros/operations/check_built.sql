{#
    Stops an operation with one sentence where something that it asks is not there: no run has
    built it, or another target's has.

    operation  its name
    ahead      what staged_since() says of what it asks
#}
{% macro check_built(operation, ahead) %}
    {%- set missing = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed'] and node.name in ahead.not_built -%}
        {#- It may be there and no view: an access view of a customer's own. -#}
        {%- if not adapter.get_relation(node.database, node.schema, node.alias) -%}
            {% do missing.append(node) %}
        {%- endif -%}
    {%- endfor -%}
    {%- if missing -%}
        {% do adapter.access_questions().not_built(operation, missing | map(attribute='name') | list, missing[0].schema) %}
    {%- endif -%}
{% endmacro %}
