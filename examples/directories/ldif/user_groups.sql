-- The raw table user_groups.
with objects as (
    select * from {{ ref('objects') }}
    where is_group
),

final as (
    select
        {{ directory_id('directory_key') }} as id,
        cn as name,
        -- Nested groups stand in user_group_members.
        cast(null as bigint) as parent_user_group_id,
        true as is_active,
        {{ generalized_time('create_timestamp') }} as date_created,
        {{ generalized_time('modify_timestamp') }} as date_modified,
        cast(null as string) as created_by,
        cast(null as string) as modified_by,
        loaded_at,
        directory_key
    from objects
)

select * from final
