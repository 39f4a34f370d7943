{#
    Each limit with what it finds of the changes between two states: the changes that it is
    about, whether they exceed it, and who has approved exactly these.

    relations  how the limits, approvals, access_changes and row_changes are called
    states     what states_compared() returns
#}
{% macro limits_query(relations, states) -%}
{%- set trimmed = {} -%}
{%- for column in ['limit_name', 'tier', 'object', 'dataset', 'role', 'changes'] -%}
    {%- do trimmed.update({column: secure_datasets.trimmed_text(column)}) -%}
{%- endfor -%}
{{ adapter.access_changes().limits(relations, states, [var('before') | lower, var('after') | lower], secure_datasets.judged_on(), trimmed) }}
{%- endmacro %}
