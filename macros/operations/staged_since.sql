{#
    The raw tables that were staged anew, with other rows, since relations were made.

    names  models
#}
{% macro staged_since(names) %}
    {%- set relations = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name in names -%}
        {% do relations.append(api.Relation.create(schema=node.schema, identifier=node.alias)) %}
    {%- endfor -%}
    {{ return(adapter.tables_ahead(graph, relations)) }}
{% endmacro %}
