{# The placeholder for the reader's id until the rule is printed. #}
{% macro reader_placeholder() %}
    {{ return('`<the reader>`') }}
{% endmacro %}
