{#
    The decision of each user and object as a number, from 0, Allow, to 3, Deny; of several
    the strictest. What is no decision counts as Deny.
#}
{% macro decisions_in_force() -%}
select
    user_id,
    object_name,
    max(case decision
        when 'Allow' then 0
        when 'Transform' then 1
        when 'Transform to Deny' then 2
        else 3
    end) as strictness
from {{ ref('view_decisions') }}
group by user_id, object_name
{%- endmacro %}
