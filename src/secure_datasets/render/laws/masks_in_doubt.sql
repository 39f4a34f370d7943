with named (role_name, group_id, resource) as (
    $named
),

-- Usable rows, live or not: their links are known.
known_groups as (

    select
        user_group_id,
        name,
        parent_user_group_id,
        is_live
    from $stg_user_groups
    where rejection_reason is null

),

-- The live groups that bear a role, and the groups below: others are no ancestors.
ways as (

    select distinct
        named.role_name,
        named.group_id,
        ancestors.user_group_id
    from named
    inner join known_groups as bearers
        on if(named.group_id is null, named.role_name = bearers.name, named.group_id = bearers.user_group_id)
    inner join $int_user_group_ancestors as ancestors
        on bearers.user_group_id = ancestors.ancestor_user_group_id

),

rejected_groups as (

    select
        concat('row ', raw_id, ' of user_groups is rejected: ', rejection_reason) as reason,
        raw_id,
        $delivered_name as name,
        $delivered_parent as link,
        rejection_reason = 'conflict' as could_say_anything
    from $stg_user_groups
    where rejection_reason is not null and ($is_no_revocation)

),

rejected_members as (

    select
        concat('row ', raw_id, ' of user_group_members is rejected: ', rejection_reason)
            as reason,
        case
            when rejection_reason = 'conflict' then ''
            else coalesce($delivered_group, '')
        end as link
    from $stg_user_group_members
    where rejection_reason is not null and ($is_no_revocation)

),

dangling as (

    select
        'user_groups' as table_name,
        user_group_id as row_id,
        parent_user_group_id as group_id
    from known_groups
    where is_live
    union all
    select
        'user_group_members' as table_name,
        user_group_member_id as row_id,
        user_group_id as group_id
    from $stg_user_group_members
    where is_live

),

-- A link to a group, as text, could lead to a role.
links as (

    select
        reason,
        link
    from rejected_groups
    where link is not null
    union all
    select
        reason,
        link
    from rejected_members
    union all
    select
        concat('row ', dangling.row_id, ' of ', dangling.table_name, ' names a group that is not there')
            as reason,
        cast(dangling.group_id as string) as link
    from dangling
    left anti join $stg_user_groups as user_groups
        on dangling.group_id = user_groups.user_group_id
    where dangling.group_id is not null

),

read_links as (

    select
        reason,
        $linked_id as group_id
    from links

),

findings as (

    select
        named.*,
        rejected_groups.reason
    from named
    inner join rejected_groups
        on if(named.group_id is null, named.role_name = rejected_groups.name, named.group_id = $rejected_id) or rejected_groups.could_say_anything
    where not (rejected_groups.could_say_anything and (named.group_id is null and named.role_name in ('Global Admin', 'Global Data Source Admin')))
    union all
    select
        named.*,
        read_links.reason
    from named
    cross join read_links
    left join known_groups
        on read_links.group_id = known_groups.user_group_id
    left join ways
        on
            named.role_name = ways.role_name
            and named.group_id <=> ways.group_id
            and read_links.group_id = ways.user_group_id
    where
        (known_groups.user_group_id is null or ways.user_group_id is not null)
        and not (named.group_id is null and named.role_name in ('Global Admin', 'Global Data Source Admin'))
    union all
    select
        named.*,
        concat('group ', rings.user_group_id, ' is in a ring, whose other groups do not hold it')
            as reason
    from named
    inner join known_groups as rings
        on if(named.group_id is null, named.role_name = rings.name, named.group_id = rings.user_group_id) and rings.is_live
    inner join known_groups as parents
        on rings.parent_user_group_id = parents.user_group_id and parents.is_live
    left anti join $int_user_group_ancestors as ancestors
        on
            rings.user_group_id = ancestors.user_group_id
            and rings.parent_user_group_id = ancestors.ancestor_user_group_id
    union all
    select
        named.*,
        concat('row ', rejected.raw_id, ' of user_global_roles is rejected: ', rejected.rejection_reason)
            as reason
    from named
    inner join $role_permissions as global_roles
        on
            named.group_id is null
            and named.role_name = global_roles.permission_name
            and global_roles.object_type = 'Global'
    cross join (
        select
            raw_id,
            rejection_reason,
            $delivered_role as role_name
        from $stg_user_global_roles
        where rejection_reason is not null and ($is_no_revocation)
    ) as rejected
    left join $role_permissions as known_roles
        on
            rejected.role_name = $known_role
            and known_roles.object_type = 'Global'
    where
        known_roles.role_name is null
        or known_roles.role_name = global_roles.role_name
        or rejected.rejection_reason = 'conflict'
    union all
    select
        named.*,
        'nobody holds it' as reason
    from named
    left anti join (
        select
            role_name,
            cast(null as bigint) as group_id
        from $vw_secure_user_roles
        union
        select
            concat('group ', user_group_id) as role_name,
            user_group_id as group_id
        from $vw_secure_user_roles
    ) as held
        on named.role_name = held.role_name and named.group_id <=> held.group_id
    $not_listed

)

select distinct
    role_name,
    resource,
    reason
from findings
