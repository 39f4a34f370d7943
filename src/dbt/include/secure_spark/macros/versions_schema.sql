{# The schema of the versions; readers need the views' schema only. #}
{% macro versions_schema(schema) -%}
    {{ return(schema ~ '_versions') }}
{%- endmacro %}
