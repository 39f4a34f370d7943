project_admins as (

    select
        object_id,
        user_id,
        row_number() over (partition by object_id order by user_id) as place
    from (
        -- Several grants may give the right.
        select distinct object_id, user_id
        from $int_access_paths
        where object_type = 'Project' and permission_name = 'Project Admin'
    ) as admins_of_projects

),

live_owners as (

    select
        objects.object_type,
        objects.object_id,
        objects.owner_user_id as user_id
    from $int_securable_objects as objects
    inner join $stg_users as users
        on objects.owner_user_id = users.user_id and users.is_live

),

charges as (

    select object_type, object_id, user_id
    from live_owners
    union
    select 'Project' as object_type, object_id, user_id
    from project_admins

),

in_charge as (

    select
        object_type,
        object_id,
        1 as number_in_charge,
        concat('user ', user_id, ', the owner') as who_acts
    from live_owners
    union all
    select
        'Project' as object_type,
        object_id,
        count(*) as number_in_charge,
        concat(
            'the administrators of the project: ',
            array_join(transform(array_sort(collect_list(case when place <= 5 then struct(place, user_id) end)), each -> concat('user ', each.user_id)), ', ')
        ) as who_acts
    from project_admins
    group by object_id

)
