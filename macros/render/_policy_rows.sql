{# The parts of a secure dataset with policies: each turns one relation into the next. #}


{#
    The rows of a view under view authorization, for the users who may read it. An allowed user is
    free of the conditions and masks that follow.
#}
{% macro _authorized_rows(view, columns) -%}
-- View authorization: nothing by Deny, nor without an outcome; by Allow all of it; by
-- Transform what the rules below leave.
select
    {%- for column in columns %}
    tier_rows.{{ column }},
    {%- endfor %}
    outcomes.outcome as view_outcome
from tier_rows
inner join {{ ref('view_outcomes') }} as outcomes
    on tier_rows.user_id = outcomes.user_id
where
    outcomes.view_name = {{ secure_datasets.sql_text(view) }}
    and outcomes.outcome in ('Allow', 'Transform')
{%- endmacro %}


{# Which of the roles that the rules name a user holds: found out by user, not by row. #}
{% macro _held_roles_of_users(policies) -%}
select
    user_id,
    named_struct(
        {%- for role, field in policies.roles.items() %}
        {{ secure_datasets.sql_text(field) }}, {% if role is number %}array_contains(user_group_ids, cast({{ role }} as bigint)){% else %}array_contains(role_names, {{ secure_datasets.sql_text(role) }}){% endif %}{{ ',' if not loop.last }}
        {%- endfor %}
    ) as held_roles
from {{ ref('user_role_names') }}
{%- endmacro %}


{#
    Each row with the roles of its user; with conditions, nothing is seen without a role,
    but by who is allowed the view.
#}
{% macro _rows_with_roles(rows, columns, policies) -%}
select
    {%- for column in columns %}
    {{ rows }}.{{ column }},
    {%- endfor %}
    users.held_roles
from {{ rows }}
{{ 'inner' if policies.needs_role else 'left' }} join held_roles_of_users as users
    on {{ rows }}.user_id = users.user_id
{%- endmacro %}


{#
    The same rows behind a barrier. A generator returns the columns that conditions and masks name,
    and Spark moves no expression over its output below it. `user_id` bypasses the generator, so that
    a filter on it still reaches the files.
#}
{% macro _guarded_rows(rows, columns, policies) -%}
-- The barrier: no condition and no mask is evaluated for a row that is hidden above.
select
    {%- for column in columns %}
    {{ 'guarded' if column in policies.guarded else rows }}.{{ column }},
    {%- endfor %}
    {{ rows ~ '.held_roles' if policies.roles else 'true as is_guarded' }}
from {{ rows }}
    lateral view inline(array(named_struct(
        {%- for column in policies.guarded %}
        {{ secure_datasets.sql_text(column) }}, {{ rows }}.{{ column }}{{ ',' if not loop.last }}
        {%- endfor %}
    ))) guarded as {{ policies.guarded | join(', ') }}
{%- endmacro %}


{# The rows that a user sees through any role, and by each restrictive condition for the user. #}
{% macro _visible_rows(rows, policies, rules) -%}
-- Conditions: a row is seen through any role whose condition is true of it
{{- ', and by each\n-- restrictive one that is for its user' if policies.restrictive }}.
select *
from {{ rows }}{{ rules.alias_of_conditions }}
where
    {{ "view_outcome = 'Allow'\n    or " if policies.is_authorized }}{{ rules.is_visible() | indent(4) }}
{%- endmacro %}


{# The columns, masked for the roles that must not see them; the types stay. #}
{% macro _masked_rows(name, rows, dataset, columns, policies, rules) -%}
{%- set masks = policies.masks -%}
{%- if masks -%}
-- Masks, on visible rows only; their conditions see unmasked values. A condition that
-- is null masks: `(not (...)) is not true` does so where `is not false` would miss the
-- null of an `in (select ...)`.
{% endif -%}
select
    {%- for column in columns %}
    {%- if column in masks %}
    case
        {%- if policies.is_authorized %}
        when view_outcome = 'Allow' then {{ column }}
        {%- endif %}
        {%- for rule in masks[column] %}
        when {{ rules.is_put_on(rule) | indent(8) }}
            then try_cast({{ rule.mask }} as {{ secure_datasets.column_type(name, dataset, column) }})
        {%- endfor %}
        else {{ column }}
    end as {{ column }}{{ ',' if not loop.last }}
    {%- else %}
    {{ column }}{{ ',' if not loop.last }}
    {%- endif %}
    {%- endfor %}
from {{ rows }}{{ rules.alias_of_masks }}
{%- endmacro %}
