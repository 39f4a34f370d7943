-- Who has results access to a project and data source?
select
    access.user_id,
    concat_ws(' ', users.first_name, users.last_name) as user_name
from {{ ref('vw_secure_user_results_access') }} as access
left join {{ ref('stg_users') }} as users
    on access.user_id = users.user_id
where
    access.project_id = {{ var('project_id', 7) }}
    and access.meta_data_source_id = {{ var('data_source_id', 3) }}
order by access.user_id
