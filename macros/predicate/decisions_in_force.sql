{#
    The decision of each live user and object as a number, from 0, Allow, to 3, Deny; of
    several the strictest. What is no decision counts as Deny.
#}
{% macro decisions_in_force() -%}
select
    decided.user_id,
    decided.object_name,
    max({{ secure_datasets.decision_strictness('decided.decision') | indent(4) }}) as strictness
from {{ ref('view_decisions') }} as decided
inner join {{ ref('stg_users') }} as users
    on decided.user_id = users.user_id
where users.is_live
group by decided.user_id, decided.object_name
{%- endmacro %}
