{#
    How many rows of each secure dataset each user has gained and lost between two states, and
    how many masked values are newly covered or shown in the rows that both have.

    states  what states_compared() returns
#}
{% macro row_changes_query(states) -%}
{%- set changes, queries = adapter.access_changes(), [] -%}
{%- for pair in changes.pairs(states, 'datasets') -%}
    {%- do queries.append(secure_datasets._changed_dataset(pair)) -%}
{%- endfor -%}
with counted as (
    {%- if queries %}
    {{ queries | join('\nunion all\n') | indent(4) }}
    {%- else %}
    {{ secure_datasets._no_changed_dataset() | indent(4) }}
    {%- endif %}
),

changed_access as (

    select distinct tier, user_id
    from {{ ref('access_changes') }}
    where change != 'other access_type'

),

tiers (dataset, tier) as (
    {{ secure_datasets.values_query(changes.tiers_of_datasets(states), 2) | indent(4) }}
),

access_of_users as (

    select distinct
        tiers.dataset,
        changed_access.user_id
    from tiers
    inner join changed_access
        on tiers.tier = changed_access.tier

),

roles_of_users as (
    {{ secure_datasets._users_with_other_roles(states) | indent(4) }}
),

judged as (

    select
        counted.*,
        filter(
            array(
                case when counted.rows_came + counted.rows_went > 0 then 'rows' end,
                case when access_of_users.user_id is not null then 'access' end,
                case when roles_of_users.user_id is not null then 'roles' end
            ),
            cause -> cause is not null
        ) as known_causes
    from counted
    left join access_of_users
        on counted.dataset = access_of_users.dataset and counted.user_id = access_of_users.user_id
    left join roles_of_users
        on counted.user_id = roles_of_users.user_id

)

select
    dataset,
    user_id,
    rows_gained,
    rows_lost,
    rows_came,
    rows_went,
    values_newly_covered,
    values_newly_shown,
    values_masked_otherwise,
    rows_digest,
    case when size(known_causes) > 0 then known_causes else array('definition') end as causes
from judged
{%- endmacro %}


{# The changes of one dataset; of a pair, one side may be none. #}
{% macro _changed_dataset(pair) -%}
{%- if pair.before and pair.after -%}
{%- set keys, masked = pair.after['keys'], pair.masked %}
select
    {{ secure_datasets.sql_text(pair.name) }} as dataset,
    user_id,
    count_if(not is_before) as rows_gained,
    count_if(not is_after) as rows_lost,
    count_if(not is_before and not was_there) as rows_came,
    count_if(not is_after and not is_there) as rows_went,
    coalesce(sum(newly_covered), 0) as values_newly_covered,
    coalesce(sum(newly_shown), 0) as values_newly_shown,
    coalesce(sum(masked_otherwise), 0) as values_masked_otherwise,
    {{ secure_datasets._digest_of_rows() }} as rows_digest
from (
    select
        coalesce(before_rows.user_id, after_rows.user_id) as user_id,
        before_rows.is_seen is not null as is_before,
        after_rows.is_seen is not null as is_after,
        {%- if pair.has_bases %}
        coalesce(before_base.is_there, false) as was_there,
        coalesce(after_base.is_there, false) as is_there,
        {%- else %}
        true as was_there,
        true as is_there,
        {%- endif %}
        {%- set told = ['newly_covered', 'newly_shown', 'masked_otherwise'] %}
        {%- for change in told %}
        case
            when before_rows.is_seen and after_rows.is_seen then
                0
                {%- for column in masked %}
                + case when {{ secure_datasets._is_value(change, column, pair.has_bases) }} then 1 else 0 end
                {%- endfor %}
            else 0
        end as {{ change }},
        {%- endfor %}
        concat_ws(
            '/'
            {%- for column in masked %}
            {%- for change in told %},
            case when before_rows.is_seen and after_rows.is_seen and {{ secure_datasets._is_value(change, column, pair.has_bases) }} then {{ secure_datasets._told_change(change, column) }} end
            {%- endfor %}
            {%- endfor %}
            {%- for column in pair.given %},
            case when before_rows.is_seen is null then {{ secure_datasets._told_change('given', column) }} end
            {%- endfor %},
            ''
        ) as changed_values,
        {{ secure_datasets._told_key(keys, ['before_rows', 'after_rows']) }} as row_key
    from (select *, true as is_seen from {{ pair.before.schema }}.{{ pair.before.relation }}) as before_rows
    full outer join (select *, true as is_seen from {{ pair.after.schema }}.{{ pair.after.relation }}) as after_rows
        on
            -- A row for everyone bears no user.
            before_rows.user_id <=> after_rows.user_id
            {%- for key in keys %}
            and before_rows.{{ key }} <=> after_rows.{{ key }}
            {%- endfor %}
    {%- for side in [pair.before, pair.after] if pair.has_bases %}
    left join (
        select
            {%- for column in (keys + masked) | unique %}
            {{ column }},
            {%- endfor %}
            true as is_there
        from {{ side.schema }}.{{ side.base }}
    ) as {{ side.side }}_base
        on
            {%- for key in keys %}
            {{ 'and ' if not loop.first }}coalesce(before_rows.{{ key }}, after_rows.{{ key }}) <=> {{ side.side }}_base.{{ key }}
            {%- endfor %}
    {%- endfor %}
) as compared
where not is_before or not is_after or newly_covered + newly_shown + masked_otherwise > 0
group by user_id
{%- else -%}
{%- set side = pair.before or pair.after %}
select
    {{ secure_datasets.sql_text(pair.name) }} as dataset,
    user_id,
    {{ 'count(*)' if pair.after else 'cast(0 as bigint)' }} as rows_gained,
    {{ 'count(*)' if pair.before else 'cast(0 as bigint)' }} as rows_lost,
    cast(0 as bigint) as rows_came,
    cast(0 as bigint) as rows_went,
    cast(0 as bigint) as values_newly_covered,
    cast(0 as bigint) as values_newly_shown,
    cast(0 as bigint) as values_masked_otherwise,
    {{ secure_datasets._digest_of_rows() }} as rows_digest
from (
    select
        user_id,
        {{ 'true' if pair.before else 'false' }} as is_before,
        {{ 'true' if pair.after else 'false' }} as is_after,
        concat_ws(
            '/'
            {%- for column in pair.given %},
            {{ secure_datasets._told_change('given', column) }}
            {%- endfor %},
            ''
        ) as changed_values,
        {{ secure_datasets._told_key(side['keys'], [side.side ~ '_rows']) }} as row_key
    from {{ side.schema }}.{{ side.relation }} as {{ side.side }}_rows
) as compared
group by user_id
{%- endif -%}
{%- endmacro %}


{#
    Whether a value of a column is newly covered or shown; or masked in both states, and by
    something else: a mask that gives more away takes none off. Without the bases nobody knows
    what a mask covers, and another value counts as masked by something else.
#}
{% macro _is_value(change, column, has_bases) -%}
{%- set shown = {} -%}
{%- for side in ['before', 'after'] -%}
{%- do shown.update({side: side ~ '_rows.' ~ column ~ ' <=> ' ~ side ~ '_base.' ~ column}) -%}
{%- endfor -%}
{%- if not has_bases -%}
{{ 'not (before_rows.' ~ column ~ ' <=> after_rows.' ~ column ~ ')' if change == 'masked_otherwise' else 'false' }}
{%- elif change == 'newly_covered' -%}
({{ shown.before }} and not ({{ shown.after }}))
{%- elif change == 'newly_shown' -%}
({{ shown.after }} and not ({{ shown.before }}))
{%- else -%}
(
                    not ({{ shown.before }}) and not ({{ shown.after }})
                    and not (before_rows.{{ column }} <=> after_rows.{{ column }})
                    and before_base.{{ column }} <=> after_base.{{ column }}
                )
{%- endif -%}
{%- endmacro %}


{#
    What has become of a value; and what a mask gives in its place, so that nobody approves one
    mask and gets another. A value that the state after masks is told also where a row is gained.
#}
{% macro _told_change(change, column) -%}
{%- if change in ['masked_otherwise', 'given'] -%}
concat('{{ change }} {{ column }} ', {{ secure_datasets._told_value('cast(after_rows.' ~ column ~ ' as string)') }})
{%- else -%}
'{{ change }} {{ column }}'
{%- endif -%}
{%- endmacro %}


{# The unique key of a row as one text, which no other row's values make. #}
{% macro _told_key(keys, relations) -%}
concat_ws(
            '/'
            {%- for key in keys %},
            {{ secure_datasets._told_value('cast(coalesce(' ~ relations | join('.' ~ key ~ ', ') ~ '.' ~ key ~ ') as string)') }}
            {%- endfor %},
            ''
        )
{%- endmacro %}


{# A text with its length, which tells it from null, and where the next one begins. #}
{% macro _told_value(text) -%}
coalesce(concat(cast(length({{ text }}) as string), ' ', {{ text }}), 'null')
{%- endmacro %}


{#
    What tells the changed rows of a user, in these the columns whose values are covered or shown,
    and what masks give, from others, whatever their order: for approvals, which are of exactly
    these.
#}
{% macro _digest_of_rows() -%}
{%- set digest = "xxhash64(row_key, is_before, is_after, changed_values)" -%}
concat(hex(bit_xor({{ digest }})), '-', cast(sum(cast({{ digest }} as decimal(38, 0))) as string))
{%- endmacro %}


{# No row: where there is nothing to compare. #}
{% macro _no_changed_dataset() -%}
select
    cast(null as string) as dataset,
    cast(null as bigint) as user_id,
    cast(0 as bigint) as rows_gained,
    cast(0 as bigint) as rows_lost,
    cast(0 as bigint) as rows_came,
    cast(0 as bigint) as rows_went,
    cast(0 as bigint) as values_newly_covered,
    cast(0 as bigint) as values_newly_shown,
    cast(0 as bigint) as values_masked_otherwise,
    cast(null as string) as rows_digest
where false
{%- endmacro %}


{# The users who hold other roles in the one state than in the other. #}
{% macro _users_with_other_roles(states) -%}
{%- set queries = [] -%}
{%- for one, other in [[states[0], states[1]], [states[1], states[0]]] -%}
{%- set query -%}
    select user_id, role_name from {{ one.schema }}.vw_secure_user_roles
    except
    select user_id, role_name from {{ other.schema }}.vw_secure_user_roles
{%- endset -%}
{%- do queries.append('(' ~ query ~ ')') -%}
{%- endfor -%}
select distinct user_id from (
    {{ queries | join('\n    union all\n    ') }}
) as other_roles
{%- endmacro %}
