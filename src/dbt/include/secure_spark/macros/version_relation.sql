{# A new version's table, which is this run's alone. #}
{% macro version_relation(relation) -%}
    {{ return(api.Relation.create(
        schema=versions_schema(relation.schema),
        identifier=relation.identifier ~ '__v' ~ run_name(),
        type='table',
    )) }}
{%- endmacro %}
