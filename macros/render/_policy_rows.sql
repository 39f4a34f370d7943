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


{#
    The rows that a user sees through any role: or, whole condition by whole condition; and by
    each restrictive condition that is for the user.
#}
{% macro _visible_rows(name, rows, policies) -%}
{%- set shows, terms = [], [] -%}
{%- for rule in policies.conditions -%}
    {%- do shows.append(secure_datasets._is_under(rule, policies, '(' ~ rule.condition ~ ')')) -%}
{%- endfor -%}
{%- if shows -%}
    {%- set either = shows | join('\nor ') -%}
    {%- do terms.append('(' ~ either ~ ')' if policies.restrictive and shows | length > 1 else either) -%}
{%- endif -%}
{%- for rule in policies.restrictive -%}
    {%- do terms.append(secure_datasets._is_met(rule, policies)) -%}
{%- endfor -%}
-- Conditions: a row is seen through any role whose condition is true of it
{{- ', and by each\n-- restrictive one that is for its user' if policies.restrictive }}.
select *
from {{ rows }}{{ secure_datasets._row_alias(name, policies.conditions + policies.restrictive) }}
where
    {{ "view_outcome = 'Allow'\n    or " if policies.is_authorized }}{{ terms | join('\nand ') | indent(4) }}
{%- endmacro %}


{# The columns, masked for the roles that must not see them; the types stay. #}
{% macro _masked_rows(name, rows, dataset, columns, policies) -%}
{%- set masks = policies.masks -%}
{%- if masks -%}
-- Masks, on visible rows only; their conditions see unmasked values. A condition that
-- is null masks: `(not (...)) is not true` says so where `is not false` would miss the
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
        when {{ secure_datasets._is_put_on(rule, policies) | indent(8) }}
            then try_cast({{ rule.mask }} as {{ secure_datasets.column_type(name, dataset, column) }})
        {%- endfor %}
        else {{ column }}
    end as {{ column }}{{ ',' if not loop.last }}
    {%- else %}
    {{ column }}{{ ',' if not loop.last }}
    {%- endif %}
    {%- endfor %}
from {{ rows }}{{ secure_datasets._row_alias(name, masks.values() | sum(start=[])) }}
{%- endmacro %}


{# The dataset's name as an alias, where a rule calls the row's own columns by it. #}
{% macro _row_alias(name, rules) -%}
{%- set rules = rules + rules | map(attribute='shown_to') | sum(start=[]) -%}
{%- set texts = rules | map(attribute='condition') | list + rules | selectattr('mask', 'defined') | map(attribute='mask') | list -%}
{{ ' as ' ~ name if adapter.secure_datasets().name_the_row(texts, name) }}
{%- endmacro %}


{#
    Whether a rule is for a row's user, and holds now. A user without any role has no row in
    held_roles_of_users: `is not true` applies the masks that spare only some roles.
#}
{% macro _is_for_user(rule, policies) -%}
{%- set in_time, terms = adapter.secure_datasets().is_in_time(rule, secure_datasets.readers_clock()), [] -%}
{%- if rule.roles -%}
    {%- do terms.append(secure_datasets._holds_a_role(rule, policies) ~ (' is not true' if rule.is_except)) -%}
{%- endif -%}
{%- if in_time -%}
    {%- do terms.append(in_time) -%}
{%- endif -%}
{{ terms | join(' and ') or 'true' }}
{%- endmacro %}


{# Whether a row's user holds one of the roles of a rule. #}
{% macro _holds_a_role(rule, policies) -%}
{%- set held = [] -%}
{%- for role in rule.roles -%}
    {%- do held.append('held_roles[' ~ secure_datasets.sql_text(policies.roles[role]) ~ ']') -%}
{%- endfor -%}
{%- set any_held = held | join(' or ') -%}
{{ any_held if held | length == 1 else '(' ~ any_held ~ ')' }}
{%- endmacro %}


{#
    Whether a restrictive rule lets a row through: it is not for the row's user, does not hold
    now, or is true.
#}
{% macro _is_met(rule, policies) -%}
{%- set in_time, terms = adapter.secure_datasets().is_in_time(rule, secure_datasets.readers_clock()), [] -%}
{%- if in_time -%}
    {%- do terms.append('not (' ~ in_time ~ ')') -%}
{%- endif -%}
{%- if rule.roles -%}
    {%- do terms.append(secure_datasets._holds_a_role(rule, policies) ~ ('' if rule.is_except else ' is not true')) -%}
{%- endif -%}
({{ (terms + ['(' ~ rule.condition ~ ')']) | join(' or ') }})
{%- endmacro %}


{# Whether a mask is put on a row: none of the lines that show the value is true of it. #}
{% macro _is_put_on(rule, policies) -%}
{%- set in_time, lines = adapter.secure_datasets().is_in_time(rule, secure_datasets.readers_clock()), [] -%}
{%- for line in rule.shown_to -%}
    {%- do lines.append(secure_datasets._is_under(line, policies, '(' ~ line.condition ~ ')')) -%}
{%- endfor -%}
{%- if lines -%}
{{ in_time ~ '\nand ' if in_time }}{{ adapter.secure_datasets().shown_by_none(lines) }}
{%- else -%}
{{ secure_datasets._is_under(rule, policies, adapter.secure_datasets().mask_condition(rule)) }}
{%- endif -%}
{%- endmacro %}


{# Whether a row and its user are under a rule; `condition` is the SQL of its condition. #}
{% macro _is_under(rule, policies, condition) -%}
{%- set is_for = secure_datasets._is_for_user(rule, policies) -%}
{%- if rule.condition == 'true' -%}
{{ is_for }}
{%- else -%}
(
    {{ is_for }}
    and {{ condition }}
)
{%- endif -%}
{%- endmacro %}
