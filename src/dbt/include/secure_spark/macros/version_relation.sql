{# A new version's table, which is this run's alone. Iceberg's catalogs tell the case of letters apart. #}
{% macro version_relation(relation) -%}
    {{ return(api.Relation.create(
        schema=versions_schema(relation.schema),
        identifier=relation.identifier | lower ~ '__v' ~ run_name(),
        type='table',
    )) }}
{%- endmacro %}
