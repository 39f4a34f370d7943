-- Who are a project's members?
select
    user_id,
    access_type
from {{ ref('vw_secure_user_project_access') }}
where project_id = {{ var('project_id', 1) }}
order by user_id
