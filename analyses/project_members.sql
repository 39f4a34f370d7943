-- Who are a project's members?
select
    access.user_id,
    concat_ws(' ', users.first_name, users.last_name) as user_name,
    access.access_type
from {{ ref('vw_secure_user_project_access') }} as access
left join {{ ref('stg_users') }} as users
    on access.user_id = users.user_id
where access.project_id = {{ var('project_id', 1) }}
order by access.user_id
