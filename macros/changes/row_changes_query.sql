{#
    How many rows of each secure dataset each user has gained and lost between two states, how
    many masked values are newly covered or shown in the rows that both have, and by which raw
    rows: the first of them, and how many more there are.

    states  what states_compared() returns
#}
{% macro row_changes_query(states) -%}
{%- set changes, rows_named = adapter.access_changes(), 10 -%}
with counted as (

    select * from {{ ref('changed_row_counts') }}

),

changed_access as (

    select
        tier,
        user_id,
        causes
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

-- Of whom roles may have shown or hidden rows: without the bases nobody knows of which.
unexplained as (

    select
        dataset,
        user_id
    from counted
    where rows_unexplained > 0 or rows_by_access is null

),

roles_of_users as (
    {{ secure_datasets._users_with_other_roles(states) | indent(4) }}
),

timed as (
    {{ secure_datasets._datasets_with_times(states) | indent(4) }}
),

rows_of_roles as (
    {{ secure_datasets._rows_of_other_roles(states) | indent(4) }}
),

-- A raw row may have changed the rows, the access and the roles of a user.
named_rows as (

    select
        dataset,
        user_id,
        cause,
        true as is_of_base
    from {{ ref('changed_base_rows') }}
    union all
    select
        tiers.dataset,
        of_access.user_id,
        of_access.cause,
        false as is_of_base
    from tiers
    inner join (select tier, user_id, explode(causes) as cause from changed_access) as of_access
        on tiers.tier = of_access.tier
    -- Of access by which none of the user's rows came or went.
    left anti join (select dataset, user_id from counted where rows_by_access = 0) as by_others
        on tiers.dataset = by_others.dataset and of_access.user_id = by_others.user_id
    where of_access.cause != 'definition'
    union all
    select
        tiers.dataset,
        rows_of_roles.user_id,
        rows_of_roles.cause,
        false as is_of_base
    from tiers
    inner join unexplained
        on tiers.dataset = unexplained.dataset
    inner join rows_of_roles
        on unexplained.user_id = rows_of_roles.user_id

),

distinct_rows as (

    select
        dataset,
        user_id,
        cause,
        max(is_of_base) as is_of_base
    from named_rows
    group by dataset, user_id, cause

),

placed_rows as (

    select
        *,
        row_number() over (partition by dataset, user_id order by cause) as place,
        count(*) over (partition by dataset, user_id) as in_all,
        max(is_of_base) over (partition by dataset, user_id) as has_changed_base
    from distinct_rows

),

rows_of_users as (

    select
        dataset,
        user_id,
        max(has_changed_base) as has_changed_base,
        array_sort(collect_list(cause)) as cause_rows,
        max(in_all) - count(*) as left_out
    from placed_rows
    where place <= {{ rows_named }}
    group by dataset, user_id

),

judged as (

    select
        counted.*,
        coalesce(rows_of_users.cause_rows, cast(array() as array<string>)) as cause_rows,
        coalesce(rows_of_users.left_out, 0) as cause_rows_left_out,
        filter(
            array(
                case when counted.rows_came + counted.rows_went + counted.rows_moved > 0 or rows_of_users.has_changed_base then 'rows' end,
                case when coalesce(counted.rows_by_access > 0, access_of_users.user_id is not null) then 'access' end,
                case when roles_of_users.user_id is not null and unexplained.dataset is not null then 'roles' end,
                case when counted.rows_unexplained > 0 and timed.has_ended then 'ended by time' end,
                case when counted.rows_unexplained > 0 and timed.has_begun then 'begun by time' end,
                case
                    when counted.rows_redefined > 0 then 'definition'
                    when counted.rows_unexplained > 0 and roles_of_users.user_id is null and coalesce(timed.is_redefined, true) then 'definition'
                end
            ),
            cause -> cause is not null
        ) as known_causes
    from counted
    left join access_of_users
        on counted.dataset = access_of_users.dataset and counted.user_id = access_of_users.user_id
    left join roles_of_users
        on counted.user_id = roles_of_users.user_id
    left join unexplained
        on counted.dataset = unexplained.dataset and counted.user_id = unexplained.user_id
    left join timed
        on counted.dataset = timed.dataset
    left join rows_of_users
        on counted.dataset = rows_of_users.dataset and counted.user_id <=> rows_of_users.user_id

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
    case when size(known_causes) > 0 then known_causes else array('definition') end as causes,
    cause_rows,
    cause_rows_left_out
from judged
{%- endmacro %}


{#
    The datasets of which a rule has begun or ended between the clocks of the states: that, and
    not its definition, has shown or hidden rows, unless something else is said of it, too.
#}
{% macro _datasets_with_times(states) -%}
{%- set queries = [] -%}
{%- for dataset in adapter.access_changes().timed(states) -%}
    {%- do queries.append("select " ~ secure_datasets.sql_text(dataset.dataset) ~ " as dataset, " ~ dataset.ended ~ " as has_ended, " ~ dataset.begun ~ " as has_begun, " ~ dataset.said ~ " as is_redefined") -%}
{%- endfor -%}
select * from (
    {{ queries | join('\n    union all\n    ') or "select cast(null as string) as dataset, false as has_ended, false as has_begun, true as is_redefined" }}
) as dataset_times
where has_ended or has_begun
{%- endmacro %}


{# The users who hold other roles in the one state than in the other. #}
{% macro _users_with_other_roles(states) -%}
{%- set queries = [] -%}
{%- for one, other in [[states[0], states[1]], [states[1], states[0]]] -%}
{%- set query -%}
    select user_id, user_group_id, role_name from {{ one.schema }}.vw_secure_user_roles
    except
    select user_id, user_group_id, role_name from {{ other.schema }}.vw_secure_user_roles
{%- endset -%}
{%- do queries.append('(' ~ query ~ ')') -%}
{%- endfor -%}
select distinct user_id from (
    {{ queries | join('\n    union all\n    ') }}
) as other_roles
{%- endmacro %}


{#
    The raw rows by which users hold other roles: those of the user, and the groups whose
    names the user's roles were or are, or were before another name.
#}
{% macro _rows_of_other_roles(states) -%}
select distinct
    moved.user_id,
    concat(changed.raw_table, ' ', changed.row_id, ' ', changed.change) as cause
from (
    {%- for state in states %}
    select user_id, 'users' as raw_table, user_id as row_id from {{ state.schema }}.stg_users
    union all
    select user_id, 'user_global_roles' as raw_table, user_global_role_id as row_id from {{ state.schema }}.stg_user_global_roles where is_live
    union all
    select user_id, 'user_group_members' as raw_table, user_group_member_id as row_id from {{ state.schema }}.stg_user_group_members where is_live
    union all
    select
        members.user_id,
        'user_groups' as raw_table,
        ancestors.ancestor_user_group_id as row_id
    from {{ state.schema }}.stg_user_group_members as members
    inner join {{ state.schema }}.int_user_group_ancestors as ancestors
        on members.user_group_id = ancestors.user_group_id
    where members.is_live
    {{ 'union all' if not loop.last }}
    {%- endfor %}
) as moved
inner join roles_of_users
    on moved.user_id = roles_of_users.user_id
inner join (
    select raw_table, row_id, change from {{ ref('changed_raw_rows') }}
    union
    select
        'user_groups' as raw_table,
        named_before.user_group_id as row_id,
        'changed' as change
    from {{ states[0].schema }}.stg_user_groups as named_before
    inner join {{ states[1].schema }}.stg_user_groups as named_after
        on named_before.user_group_id = named_after.user_group_id
    where named_before.is_live and named_after.is_live and not (named_before.name <=> named_after.name)
) as changed
    on moved.raw_table = changed.raw_table and moved.row_id = changed.row_id
{%- endmacro %}
