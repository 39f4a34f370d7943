{# A text as an SQL literal, on one line, which nothing on its way to Spark changes. #}
{% macro sql_text(text) -%}
    {%- do secure_datasets.check_adapter() -%}
    {{ return(adapter.secure_datasets().sql_text(text)) }}
{%- endmacro %}
