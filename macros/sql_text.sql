{# A text as an SQL literal, on one line: what indents SQL must not change it. #}
{% macro sql_text(text) -%}
    {{ return("'" ~ text | replace('\\', '\\\\') | replace("'", "\\'") | replace('\n', '\\n') | replace('\r', '\\r') ~ "'") }}
{%- endmacro %}
