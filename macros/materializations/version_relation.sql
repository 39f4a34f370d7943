{# A new version's table: sorts by the start of the run, and is this run's alone. #}
{% macro version_relation(relation) -%}
    {%- set identifier = _version_prefix(relation)
        ~ run_started_at.strftime('%Y%m%d%H%M%S') ~ '_' ~ invocation_id[:8] -%}
    {{ return(api.Relation.create(
        schema=versions_schema(relation.schema), identifier=identifier, type='table'
    )) }}
{%- endmacro %}
