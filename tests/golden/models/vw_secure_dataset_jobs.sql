-- Rendered from the entry 'jobs' of secure_datasets_config().
select
    base.project_id,
    base.project_name,
    base.job_id,
    base.job_name,
    access.user_id,
    access.access_type
from secure_datasets.vw_dataset_jobs as base
inner join secure_datasets.vw_secure_user_project_access as access
    on base.project_id = access.project_id
