select
    project_id,
    name as project_name
from {{ ref('secure_datasets', 'stg_projects') }}
where is_live
