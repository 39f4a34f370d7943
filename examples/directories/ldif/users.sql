-- The raw table users.
with objects as (
    select * from {{ ref('objects') }}
    where is_user
),

final as (
    select
        {{ directory_id('directory_key') }} as id,
        uid as login_name,
        given_name as first_name,
        sn as last_name,
        mail as email,
        cast(null as string) as time_zone,
        cast(null as timestamp) as date_last_login,
        not is_locked as is_active,
        {{ generalized_time('create_timestamp') }} as date_created,
        {{ generalized_time('modify_timestamp') }} as date_modified,
        cast(null as string) as created_by,
        cast(null as string) as modified_by,
        loaded_at,
        directory_key
    from objects
)

select * from final
