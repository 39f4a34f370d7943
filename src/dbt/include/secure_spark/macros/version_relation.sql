{# The table of a new version, which only this run uses. Its name is in lower case, because Iceberg's catalogs distinguish case. #}
{% macro version_relation(relation) -%}
    {{ return(api.Relation.create(
        schema=versions_schema(relation.schema),
        identifier=relation.identifier | lower ~ '__v' ~ run_name(),
        type='table',
    )) }}
{%- endmacro %}
