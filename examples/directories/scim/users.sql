-- The raw table users, once per load.
with resources as (
    select * from {{ ref('resources') }}
    where resource_type = 'Users' and resource is not null
),

final as (
    select
        {{ directory_id('directory_key') }} as id,
        get_json_object(resource, '$.userName') as login_name,
        get_json_object(resource, '$.name.givenName') as first_name,
        get_json_object(resource, '$.name.familyName') as last_name,
        get_json_object(resource, '$.emails[0].value') as email,
        get_json_object(resource, '$.timezone') as time_zone,
        cast(null as timestamp) as date_last_login,
        -- Where a provider leaves it out, nobody is active.
        get_json_object(resource, '$.active') as is_active,
        get_json_object(resource, '$.meta.created') as date_created,
        get_json_object(resource, '$.meta.lastModified') as date_modified,
        cast(null as string) as created_by,
        cast(null as string) as modified_by,
        loaded_at,
        is_complete,
        directory_key
    from resources
)

select * from final
