{#
    A text as it may be printed: characters that would steer the terminal, turn what follows
    around or not be seen stand as escapes. Names come from whoever may name something.
#}
{% macro printable(text) -%}
    {{ return(adapter.secure_datasets().printable(text)) }}
{%- endmacro %}
