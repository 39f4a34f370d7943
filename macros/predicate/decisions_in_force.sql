{#
    The decision of each live user and object as a number, from 0, Allow, to 3, Deny; the
    strictest of several. A value that is no decision counts as Deny.

    On a table, Deny removes no rows and applies no rules: a user who is allowed the view reads
    it whole. There any decision of Transform, or a value that is no decision, applies the
    rules. Names of objects match in any case.
#}
{% macro decisions_in_force() -%}
select
    decided.user_id,
    lower(trim(decided.object_name)) as object_name,
    max(case decided.decision
        when 'Allow' then 0
        when 'Transform' then 1
        when 'Transform to Deny' then 2
        else 3
    end) as strictness,
    max(case decided.decision
        when 'Allow' then 0
        when 'Transform to Deny' then 0
        when 'Deny' then 0
        else 1
    end) as has_rules
from {{ ref('view_decisions') }} as decided
inner join {{ ref('stg_users') }} as users
    on decided.user_id = users.user_id
where users.is_live
group by decided.user_id, lower(trim(decided.object_name))
{%- endmacro %}
