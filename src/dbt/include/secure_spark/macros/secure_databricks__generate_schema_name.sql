{# The same rule for the type `secure_databricks`: dbt does not dispatch it to macros of `secure_spark`. #}
{% macro secure_databricks__generate_schema_name(custom_schema_name, node) -%}
    {{ return(secure_spark__generate_schema_name(custom_schema_name, node)) }}
{%- endmacro %}
