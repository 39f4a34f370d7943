{#
    A text that is safe to print: invisible characters, and characters that steer the terminal or
    reverse the text after them, become escapes. Every user who may name something supplies names.
#}
{% macro printable(text) -%}
    {{ return(adapter.secure_datasets().printable(text)) }}
{%- endmacro %}
