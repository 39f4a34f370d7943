{#
    SQL: whether a rule holds now, by its `valid_from` and `valid_until`; nothing if it has none.

    rule   the rule, as policies_on() returns it
#}
{% macro rule_is_in_time(rule) -%}
{{ adapter.secure_datasets().is_in_time(rule, secure_datasets.readers_clock()) if rule.valid_from or rule.valid_until }}
{%- endmacro %}
