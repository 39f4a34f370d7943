-- Rendered from the entry 'test_executions' of secure_datasets_config().
select
    base.test_execution_id,
    base.job_step_execution_id,
    base.batch_id,
    base.test_id,
    base.test_name,
    base.test_version_id,
    base.test_version_number,
    base.is_active_version,
    base.project_id,
    base.project_name,
    base.test_data_source_id,
    base.test_data_source,
    base.control_data_source_id,
    base.control_data_source,
    base.code_test_evaluation_result_id,
    base.result,
    base.date_started,
    base.date_completed,
    base.duration,
    base.passed_count,
    base.failed_count,
    base.error_count,
    base.test_row_count,
    base.control_row_count,
    base.matched_row_count,
    base.error_message,
    base.latest_test_execution_index,
    base.earliest_test_execution_index,
    access.user_id
from secure_datasets.vw_dataset_test_executions as base
inner join secure_datasets.vw_secure_user_results_access as access
    on
        base.project_id = access.project_id
        and base.test_data_source_id = access.meta_data_source_id
-- The right on the second side, for the same user; one row at most, so none is doubled.
left join secure_datasets.vw_secure_user_results_access as second_access
    on
        base.project_id = second_access.project_id
        and base.control_data_source_id = second_access.meta_data_source_id
        and access.user_id = second_access.user_id
where
    (base.control_data_source_id is null or second_access.user_id is not null)
