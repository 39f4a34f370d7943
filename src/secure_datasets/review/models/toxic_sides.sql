pairs as (

    -- A pair may be listed twice.
    select
        trim(object_type) as object_type,
        trim(permission_name) as permission_name,
        trim(other_permission_name) as other_permission_name,
        min(nullif(trim(reason), '')) as reason
    from $toxic_pairs
    group by trim(object_type), trim(permission_name), trim(other_permission_name)

),

each_way_round as (

    select
        object_type,
        case place when 1 then permission_name else other_permission_name end as permission_name,
        case place when 1 then other_permission_name else permission_name end as other_permission_name,
        concat(permission_name, ' and ', other_permission_name) as pair,
        place,
        reason
    from pairs
    cross join (values (1), (2)) as sides (place)

),

named_permissions as (

    -- Several pairs may name one permission.
    select distinct object_type, permission_name from each_way_round

),

held_by as (

    -- A row may give a permission in several ways, and a global role gives it on every object.
    select distinct
        paths.user_id,
        paths.object_type,
        case when paths.grant_table != 'user_global_roles' then paths.object_id end as object_id,
        paths.permission_name,
        paths.grant_table,
        paths.grant_id
    from $int_access_paths as paths
    left semi join named_permissions
        on
            paths.object_type = named_permissions.object_type
            and paths.permission_name = named_permissions.permission_name$only_found

),

held as (

    -- Several rows may give a permission.
    select distinct user_id, object_type, object_id, permission_name from held_by

),

toxic as (

    -- Each pair is found twice, once from either side.
    select distinct
        held.user_id,
        held.object_type,
        held.object_id,
        each_way_round.pair
    from held
    inner join each_way_round
        on
            held.object_type = each_way_round.object_type
            and held.permission_name = each_way_round.permission_name
    inner join held as others
        on
            held.user_id = others.user_id
            and held.object_type = others.object_type
            and each_way_round.other_permission_name = others.permission_name
            -- A global role gives its permissions on every object.
            and (others.object_id is null or held.object_id = others.object_id)

),

toxic_rows as (

    select
        toxic.user_id,
        toxic.object_type,
        toxic.object_id,
        toxic.pair,
        each_way_round.place as side,
        each_way_round.permission_name,
        each_way_round.reason,
        concat(held_by.grant_table, ' ', held_by.grant_id) as by_row,
        row_number() over (
            partition by toxic.user_id, toxic.object_type, toxic.object_id, toxic.pair, each_way_round.place
            order by held_by.grant_table, held_by.grant_id
        ) as place
    from toxic
    inner join each_way_round
        on
            toxic.object_type = each_way_round.object_type
            and toxic.pair = each_way_round.pair
    inner join held_by
        on
            toxic.user_id = held_by.user_id
            and toxic.object_type = held_by.object_type
            and each_way_round.permission_name = held_by.permission_name
            and (held_by.object_id is null or toxic.object_id = held_by.object_id)

),

toxic_sides as (

    select
        user_id,
        object_type,
        object_id,
        pair,
        side,
        min(reason) as reason,
        collect_list(by_row) as by_rows,
        concat(
            min(permission_name), ', by ',
            array_join(transform(array_sort(collect_list(case when place <= 3 then struct(place, by_row) end)), each -> each.by_row), ', '),
            case when count(*) > 3 then concat(' and ', count(*) - 3, ' more') else '' end
        ) as told
    from toxic_rows
    group by user_id, object_type, object_id, pair, side

)
