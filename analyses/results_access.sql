-- Who has results access to a project and data source?
select user_id
from {{ ref('vw_secure_user_results_access') }}
where
    project_id = {{ var('project_id', 7) }}
    and meta_data_source_id = {{ var('data_source_id', 3) }}
order by user_id
