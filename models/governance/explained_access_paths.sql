{%- set queries = [] -%}
{%- set tables = secure_datasets.repository_tables() -%}
{%- for name, table in tables.items() if table.object_type -%}
{%- set query %}
    select
        '{{ name }}' as grant_table,
        {{ table.key }} as grant_id,
        role_name
    from {{ ref('stg_' ~ name) }}
    where is_live
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
with access_paths as (

    select
        user_id,
        object_type,
        object_id,
        permission_name,
        path_kind,
        grant_table,
        grant_id,
        user_group_id,
        date_created,
        created_by
    from {{ ref('int_access_paths') }}

),

grants as (
    {{ queries | join('\n    union all') }}

),

members as (

    select
        user_group_member_id,
        user_id,
        user_group_id,
        date_created,
        created_by
    from {{ ref('stg_user_group_members') }}
    where is_live

),

-- From a group to one whose rights it passes on, with every group between, in order.
chains as (

    select
        upper_ends.user_group_id,
        upper_ends.ancestor_user_group_id as holding_group_id,
        array_sort(
            collect_list(
                struct(
                    steps.depth,
                    steps.ancestor_user_group_id as user_group_id,
                    coalesce(user_groups.name, '(no name)') as name
                )
            )
        ) as steps
    from {{ ref('int_user_group_ancestors') }} as upper_ends
    inner join {{ ref('int_user_group_ancestors') }} as steps
        on
            upper_ends.user_group_id = steps.user_group_id
            and upper_ends.depth >= steps.depth
    inner join {{ ref('stg_user_groups') }} as user_groups
        on steps.ancestor_user_group_id = user_groups.user_group_id
    group by upper_ends.user_group_id, upper_ends.ancestor_user_group_id

),

group_ways as (

    select
        members.user_id,
        members.user_group_member_id,
        members.date_created,
        members.created_by,
        chains.holding_group_id,
        chains.steps
    from members
    inner join chains
        on members.user_group_id = chains.user_group_id

),

final as (

    select
        access_paths.user_id,
        access_paths.object_type,
        access_paths.object_id,
        access_paths.permission_name,
        access_paths.path_kind,
        access_paths.grant_table,
        access_paths.grant_id,
        grants.role_name,
        access_paths.user_group_id,
        group_ways.user_group_member_id,
        transform(group_ways.steps, step -> step.user_group_id) as group_ids,
        array_join(
            transform(
                group_ways.steps,
                step -> concat(step.name, ' (', step.user_group_id, ')')
            ),
            ' > '
        ) as group_chain,
        access_paths.date_created,
        access_paths.created_by,
        group_ways.date_created as member_date_created,
        group_ways.created_by as member_created_by
    from access_paths
    left join grants
        on
            access_paths.grant_table = grants.grant_table
            and access_paths.grant_id = grants.grant_id
    left join group_ways
        on
            access_paths.user_id = group_ways.user_id
            and access_paths.user_group_id = group_ways.holding_group_id

)

select * from final
