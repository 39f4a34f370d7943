{#
    Each limit with its result for the changes between two states: the changes that it covers,
    whether they exceed it, and who has approved exactly these changes.

    relations  the names of the limits, approvals, access_changes and row_changes
    states     the result of states_compared()
#}
{% macro limits_query(relations, states) -%}
{{ adapter.access_changes().limits(relations, states, [var('before') | lower, var('after') | lower], secure_datasets.judged_on()) }}
{%- endmacro %}
