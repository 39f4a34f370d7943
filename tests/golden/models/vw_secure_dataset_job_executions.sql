-- Rendered from the entry 'job_executions' of secure_datasets_config().
select
    base.project_id,
    base.project_name,
    base.job_id,
    base.job_name,
    base.job_execution_id,
    base.batch_id,
    base.date_started,
    base.date_completed,
    base.duration,
    base.passed_count,
    base.failed_count,
    base.error_count,
    access.user_id,
    access.access_type
from secure_datasets.vw_dataset_job_executions as base
inner join secure_datasets.vw_secure_user_project_access as access
    on base.project_id = access.project_id
