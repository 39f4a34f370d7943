-- Who sees a data source?
select
    access.user_id,
    concat_ws(' ', users.first_name, users.last_name) as user_name,
    access.access_type
from {{ ref('vw_secure_user_data_source_access') }} as access
left join {{ ref('stg_users') }} as users
    on access.user_id = users.user_id
where access.meta_data_source_id = {{ var('data_source_id', 1) }}
order by access.user_id
