{#
    Whether none of the lines of a mask's shown_to is true: a line that is null shows nothing.

    lines   the lines as SQL: whether each is for the user, and true for the row
#}
{% macro shown_by_none(lines) -%}
(
    {{ lines | join('\nor ') | indent(4) }}
) is not true
{%- endmacro %}
