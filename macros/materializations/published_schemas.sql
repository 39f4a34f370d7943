{# The schemas whose relations are published as views over versions, if they exist. #}
{% macro published_schemas() %}
    {%- set schemas = [] -%}
    {%- for schema in [target.schema, var('sample_schema')] | unique -%}
        {%- if adapter.check_schema_exists(target.database, schema) -%}
            {% do schemas.append(schema) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(schemas) }}
{% endmacro %}
