{#
    The changes since the build of relations that are read together: `tables`, the raw tables with
    different rows in staging; `stored`, the further inputs that one of the relations shows in an
    older state; `of_before`, the relations that are outdated; `not_built`, the relations that are not
    built.

    names  models and seeds
#}
{% macro staged_since(names) %}
    {%- set relations = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed'] and node.name in names -%}
        {% do relations.append(api.Relation.create(schema=node.schema, identifier=node.alias)) %}
    {%- endfor -%}
    {{ return(adapter.made_since(graph, relations)) }}
{% endmacro %}
