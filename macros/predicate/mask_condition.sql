{#
    The rows that a mask covers: the rows of its condition and, unless the mask has
    `mask_on_null: pass`, the rows where the condition is null. `(not (...)) is not true` is
    used, because `is not false` would miss the null of an `in (select ...)`.

    rule   the mask, as policies_on() returns it
#}
{% macro mask_condition(rule) -%}
{{ '(not (' ~ rule.condition ~ ')) is not true' if rule.mask_on_null == 'mask' else '(' ~ rule.condition ~ ')' }}
{%- endmacro %}
