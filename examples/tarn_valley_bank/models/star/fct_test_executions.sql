{{ config(cluster_by=['project_id']) }}

select
    test_execution_id,
    test_id,
    project_id,
    test_data_source_id as data_source_id,
    control_data_source_id,
    {{ secure_datasets.utc_day('date_started') }} as day,
    result,
    passed_count,
    failed_count,
    error_count
from {{ ref('vw_dataset_test_executions') }}
