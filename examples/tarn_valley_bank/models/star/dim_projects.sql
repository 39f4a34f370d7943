select
    project_id,
    name as project_name
from {{ ref('stg_projects') }}
where is_live
