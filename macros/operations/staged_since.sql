{#
    What was made anew since relations were made that are read together: `tables`, raw tables
    of which other rows were staged; `stored`, further relations that one of them shows as they
    were before; which of them are `of_before`; and which are `not_built`.

    names  models and seeds
#}
{% macro staged_since(names) %}
    {%- set relations = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed'] and node.name in names -%}
        {% do relations.append(api.Relation.create(schema=node.schema, identifier=node.alias)) %}
    {%- endfor -%}
    {{ return(adapter.made_since(graph, relations)) }}
{% endmacro %}
