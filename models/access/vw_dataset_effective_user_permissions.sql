{{ config(cluster_by=['user_id'], folders=1) -}}
{{ secure_datasets.view_of_rights_in_time() }}

with access_paths as (

    select
        user_id,
        object_type,
        object_id,
        permission_name,
        -- A direct grant is named before a group's; an implicit path has none.
        case path_kind when 'User' then 1 when 'Group' then 2 else 3 end as precedence,
        path_kind in ('User', 'Group') as is_explicit,
        grant_id,
        date_created,
        date_modified,
        created_by,
        modified_by
    from {{ ref('int_access_paths') }}

),

permissions as (

    select
        user_id,
        object_type,
        object_id,
        permission_name,
        min_by(
            case
                when is_explicit
                    then struct(date_created, date_modified, created_by, modified_by)
            end,
            struct(precedence, date_created is null, date_created, grant_id)
        ) as first_grant
    from access_paths
    group by user_id, object_type, object_id, permission_name

),

users as (

    select
        user_id,
        login_name,
        first_name,
        last_name,
        email,
        date_last_login,
        date_created,
        date_modified,
        created_by,
        modified_by,
        time_zone
    from {{ ref('stg_users') }}
    where is_live

),

objects as (

    select
        object_type,
        object_id,
        object_name
    from {{ ref('int_securable_objects') }}

),

final as (

    select
        permissions.user_id,
        users.login_name as user_login_name,
        users.first_name as user_first_name,
        users.last_name as user_last_name,
        users.email as user_email,
        users.date_last_login as user_date_last_login,
        users.date_created as user_date_created,
        users.date_modified as user_date_modified,
        users.created_by as user_created_by,
        users.modified_by as user_modified_by,
        users.time_zone as user_time_zone,
        permissions.object_type,
        permissions.object_id,
        objects.object_name,
        permissions.permission_name,
        permissions.first_grant.date_created as permission_date_created,
        permissions.first_grant.date_modified as permission_date_modified,
        permissions.first_grant.created_by as permission_created_by,
        permissions.first_grant.modified_by as permission_modified_by
    from permissions
    inner join users
        on permissions.user_id = users.user_id
    inner join objects
        on
            permissions.object_type = objects.object_type
            and permissions.object_id = objects.object_id

)

select * from final
