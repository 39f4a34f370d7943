-- The raw table user_groups, once per load.
with resources as (
    select * from {{ ref('resources') }}
    where resource_type = 'Groups' and resource is not null
),

final as (
    select
        {{ directory_id('directory_key') }} as id,
        get_json_object(resource, '$.displayName') as name,
        -- Nested groups stand in user_group_members.
        cast(null as bigint) as parent_user_group_id,
        true as is_active,
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
