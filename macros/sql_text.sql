{# A text as an SQL literal. #}
{% macro sql_text(text) -%}
    {{ return("'" ~ text | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") }}
{%- endmacro %}
