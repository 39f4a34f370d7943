{#
    SQL for the moment that rules compare with: the moment of reading, or the moment of a past state,
    `as_of`. A customer's condition may not read the clock; the product's own comparison does, and
    only in the text of views, so that a rule begins and ends without a run.
#}
{% macro readers_clock() -%}
{%- set as_of = var('as_of', none) -%}
{{ "timestamp '" ~ adapter.as_of_text(as_of) ~ "Z'" if as_of is not none else 'current_timestamp()' }}
{%- endmacro %}
