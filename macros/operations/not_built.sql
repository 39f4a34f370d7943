{#
    The nodes of models and seeds whose relation does not exist, whatever its type: no run built it,
    or only a run of another target.

    names  models and seeds
#}
{% macro not_built(names) %}
    {%- set found = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed'] and node.name in names -%}
        {%- if not adapter.get_relation(node.database, node.schema, node.alias) -%}
            {% do found.append(node) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
