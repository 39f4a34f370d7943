with $named_users,

$named_things,

ways as (

    select
        user_id,
        object_type,
        object_id,
        permission_name,
        path_kind,
        grant_table,
        grant_id
    from $int_access_paths
    where grant_table != 'user_global_roles'

),

global_ways as (

    -- There is one row for each object that a role reaches.
    select distinct
        user_id,
        object_type,
        permission_name,
        path_kind,
        grant_table,
        grant_id
    from $int_access_paths
    where grant_table = 'user_global_roles'

),

shown as (

    -- There is one row for each project that shows a data source.
    $shown_by_links

),

judged_ways as (

    select
        ways.user_id,
        ways.object_type,
        ways.object_id,
        ways.permission_name,
        ways.path_kind,
        ways.grant_table,
        ways.grant_id,
        shown.user_id is not null or not $is_linked as is_needed
    from ways
    left join shown
        on
            ways.user_id = shown.user_id
            and ways.object_type = shown.object_type
            and ways.object_id = shown.object_id
            and ways.permission_name = shown.permission_name

),

global_kinds as (

    select
        user_id,
        object_type,
        permission_name,
        count(distinct path_kind) as kinds
    from global_ways
    group by user_id, object_type, permission_name

),

counted_ways as (

    select
        judged_ways.*,
        $is_carried as is_carried,
        coalesce(global_kinds.kinds, 0) as global_kinds,
        count(*) over of_right as number_of_ways,
        count_if(path_kind = 'User') over of_right as user_ways,
        count_if(path_kind = 'Group') over of_right as group_ways
    from judged_ways
    left join global_kinds
        on
            judged_ways.user_id = global_kinds.user_id
            and judged_ways.object_type = global_kinds.object_type
            and judged_ways.permission_name = global_kinds.permission_name
    window of_right as (
        partition by judged_ways.user_id, judged_ways.object_type, judged_ways.object_id, judged_ways.permission_name
    )

),

weighed_ways as (

    select
        grant_table,
        grant_id,
        is_needed,
        case
            when not is_needed then null
            when number_of_ways = 1 and global_kinds = 0 then true
            when
                is_carried
                and global_kinds
                + case when user_ways > 0 then 1 else 0 end
                + case when group_ways > 0 then 1 else 0 end
                + case when number_of_ways > user_ways + group_ways then 1 else 0 end = 2
                and case path_kind when 'User' then user_ways when 'Group' then group_ways end = 1
                then false
        end as takes_right
    from counted_ways

),

global_roles as (

    -- A global role is a right by itself, so that only the same role stands in for it.
    select
        *,
        count(*) over (partition by user_id, path_kind) as number_of_rows
    from (select distinct user_id, path_kind, grant_table, grant_id from global_ways) as held

),

weighed as (

    select
        grant_table,
        grant_id,
        max(is_needed) as is_needed,
        max(takes_right) as takes_right
    from (
        select grant_table, grant_id, is_needed, takes_right
        from weighed_ways
        union all
        select grant_table, grant_id, true as is_needed, case when number_of_rows = 1 then true end as takes_right
        from global_roles
    ) as each_way
    group by grant_table, grant_id

),

grants as (

    $grants

),

members as (

    select
        user_group_member_id,
        user_id,
        user_group_id
    from $stg_user_group_members
    where is_live

),

reached_groups as (

    select
        members.user_group_member_id,
        members.user_id,
        ancestors.ancestor_user_group_id,
        count(*) over (partition by members.user_id, ancestors.ancestor_user_group_id) as number_of_ways
    from members
    left semi join (select user_id from $stg_users where is_live) as users
        on members.user_id = users.user_id
    -- Only live groups pass on rights.
    inner join $int_user_group_ancestors as ancestors
        on members.user_group_id = ancestors.user_group_id

),

redundant_members as (

    -- A membership counts if it is the only way to any of its groups.
    select
        user_group_member_id,
        user_id,
        ancestor_user_group_id
    from (
        select *, min(number_of_ways) over (partition by user_group_member_id) as fewest_ways
        from reached_groups
    ) as each_way
    where fewest_ways > 1

),

groups_with_members as (

    -- There is one row for each member of a group.
    select distinct user_group_id
    from $int_user_group_memberships

),

granting_global_roles as (

    -- A role may have several permissions.
    select distinct role_name
    from $role_permissions
    where object_type = 'Global' and permission_name is not null

),

judged_permissions as (

    select
        grants.*,
        weighed.is_needed,
        case
            when not weighed.is_needed
                then concat('link: nobody who holds it is a member of a project that is linked to ', lower(grants.object_type), $numbered_object)
            when weighed.is_needed is null then nullif(concat_ws(
                '; ',
                case when grants.user_id is not null and named_users.is_live is not true then concat('holder: ', $holding_user) end,
                case when grants.user_group_id is not null and named_groups.is_live is not true then concat('holder: ', $holding_group) end,
                case when named_groups.is_live and peopled.user_group_id is null then concat('holder: ', $numbered_group, ' has no live member') end,
                case when grants.object_id is not null and named_objects.is_live is not true then concat('object: ', $object) end,
                case when granting.role_name is not null and named_users.is_live then 'object: there is none that the role reaches' end
            ), '')
        end as missing,
        weighed.takes_right
    from grants
    left join weighed
        on
            grants.grant_table = weighed.grant_table
            and grants.grant_id = weighed.grant_id
    left join named_users
        on grants.user_id = named_users.user_id
    left join named_things as named_groups
        on named_groups.object_type = 'User Group' and grants.user_group_id = named_groups.object_id
    left join named_things as named_objects
        on grants.object_type = named_objects.object_type and grants.object_id = named_objects.object_id
    left join groups_with_members as peopled
        on grants.user_group_id = peopled.user_group_id
    left join granting_global_roles as granting
        on
            grants.grant_table = 'user_global_roles'
            and grants.role_name = granting.role_name

),

judged as (

    select
        grant_table,
        grant_id,
        user_id,
        user_group_id,
        object_type,
        object_id,
        role_name,
        case
            when missing is not null then 'gives nothing'
            -- A role that grants nothing here serves a different purpose.
            when is_needed is null or takes_right then 'counts'
            when not takes_right then 'has another way'
            else 'redundant'
        end as verdict,
        missing
    from judged_permissions
    union all
    select
        'user_group_members' as grant_table,
        members.user_group_member_id as grant_id,
        members.user_id,
        members.user_group_id,
        'User Group' as object_type,
        members.user_group_id as object_id,
        cast(null as string) as role_name,
        case
            when named_users.is_live is not true or named_things.is_live is not true then 'gives nothing'
            when redundant_members.user_group_member_id is not null then 'redundant'
            else 'counts'
        end as verdict,
        nullif(concat_ws(
            '; ',
            case when named_users.is_live is not true then concat('holder: ', $member) end,
            case when named_things.is_live is not true then concat('object: ', $group_of_member) end
        ), '') as missing
    from members
    left join (
        -- There is one row for each group that a membership leads to.
        select distinct user_group_member_id
        from redundant_members
    ) as redundant_members
        on members.user_group_member_id = redundant_members.user_group_member_id
    left join named_users
        on members.user_id = named_users.user_id
    left join named_things
        on named_things.object_type = 'User Group' and members.user_group_id = named_things.object_id
    $judged_links

),

-- Not from the verdicts, since Spark plans the query of a CTE wherever the CTE is read.
redundant_ways as (

    select judged_ways.*
    from judged_ways
    left semi join (
        select grant_table, grant_id
        from weighed
        where is_needed and not coalesce(takes_right, false)
    ) as redundant
        on judged_ways.grant_table = redundant.grant_table and judged_ways.grant_id = redundant.grant_id
    where judged_ways.is_needed

),

others as (

    select mine.grant_table, mine.grant_id, paths.grant_table as other_table, paths.grant_id as other_id
    from redundant_ways as mine
    inner join $int_access_paths as paths
        on
            mine.user_id = paths.user_id
            and mine.object_type = paths.object_type
            and mine.object_id = paths.object_id
            and mine.permission_name = paths.permission_name
            and (mine.grant_table != paths.grant_table or mine.grant_id != paths.grant_id)
    union
    select mine.grant_table, mine.grant_id, twins.grant_table as other_table, twins.grant_id as other_id
    from global_roles as mine
    inner join global_roles as twins
        on
            mine.user_id = twins.user_id
            and mine.path_kind = twins.path_kind
            and mine.grant_id != twins.grant_id
    union
    select 'user_group_members' as grant_table, mine.user_group_member_id as grant_id, 'user_group_members' as other_table, reached_groups.user_group_member_id as other_id
    from redundant_members as mine
    inner join reached_groups
        on
            mine.user_id = reached_groups.user_id
            and mine.ancestor_user_group_id = reached_groups.ancestor_user_group_id
            and mine.user_group_member_id != reached_groups.user_group_member_id
    $equal_links

),

numbered as (

    select
        grant_table,
        grant_id,
        concat(other_table, ' ', other_id) as other,
        row_number() over (partition by grant_table, grant_id order by other_table, other_id) as place
    from others

),

stands_in as (

    select
        grant_table,
        grant_id,
        count(*) as number_of_grants,
        array_join(
            transform(
                array_sort(collect_list(case when place <= 10 then struct(place, other) end)),
                entry -> entry.other
            ),
            ', '
        ) as first_grants
    from numbered
    group by grant_table, grant_id

),

final as (

    select
        judged.grant_table,
        judged.grant_id,
        judged.user_id,
        judged.user_group_id,
        judged.object_type,
        judged.object_id,
        judged.role_name,
        judged.verdict,
        judged.missing,
        stands_in.number_of_grants as stands_in_number,
        stands_in.first_grants as stands_in
    from judged
    left join stands_in
        on
            judged.grant_table = stands_in.grant_table
            and judged.grant_id = stands_in.grant_id
            -- A row that counts may have stand-ins for a part of its rights.
            and judged.verdict in ('redundant', 'has another way')

)

select * from final
