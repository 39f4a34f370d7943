{%- set datasets = secure_datasets.secure_datasets_config().datasets -%}
{{ config(enabled='test_executions' in datasets) -}}
-- Which newest executions does a user see?
select
    test_id,
    test_execution_id,
    result
from {{ ref('vw_secure_dataset_test_executions') }}
where
    user_id = {{ var('user_id', 8) }}
    and latest_test_execution_index = 1
order by test_id
