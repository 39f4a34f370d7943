{#
    Stops an operation with a clear error if a relation that it reads does not exist: no run built
    it, or only a run of a different target.

    operation  the name of the operation
    ahead      the result of staged_since() for its relations
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
