{#
    Of which rows a mask is put on: those of its condition, and those where the condition is
    null unless the mask says `mask_on_null: pass`. `(not (...)) is not true` says so where
    `is not false` would miss the null of an `in (select ...)`.

    rule   the mask, as policies_on() returns it
#}
{% macro mask_condition(rule) -%}
{{ '(not (' ~ rule.condition ~ ')) is not true' if rule.mask_on_null == 'mask' else '(' ~ rule.condition ~ ')' }}
{%- endmacro %}
