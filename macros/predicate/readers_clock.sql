{#
    SQL for the moment at which rules are asked: the reader's own, or that of a past state,
    `as_of`. What a customer's condition may not ask, the product's own comparison does: it stands
    in the text of views alone, so that a rule begins and ends without a run.
#}
{% macro readers_clock() -%}
{%- set as_of = var('as_of', none) -%}
{{ "timestamp '" ~ adapter.as_of_text(as_of) ~ "Z'" if as_of is not none else 'current_timestamp()' }}
{%- endmacro %}
