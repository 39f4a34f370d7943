-- Rendered from the entry 'tests' of secure_datasets_config().
select
    base.project_id,
    base.project_name,
    base.test_id,
    base.test_name,
    base.test_type,
    base.test_data_source_id,
    base.control_data_source_id,
    base.quality_dimension,
    base.overall_result_status,
    access.user_id,
    access.access_type
from secure_datasets.vw_dataset_tests as base
inner join secure_datasets.vw_secure_user_project_access as access
    on base.project_id = access.project_id
