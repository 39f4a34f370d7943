{#
    A decision about a view or a table as a number: from 0, Allow, to 3, Deny; what is no
    decision counts as Deny.

    decision  SQL for the decision
#}
{% macro decision_strictness(decision) -%}
case {{ decision }}
    when 'Allow' then 0
    when 'Transform' then 1
    when 'Transform to Deny' then 2
    else 3
end
{%- endmacro %}
