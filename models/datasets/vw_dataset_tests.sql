{{ config(cluster_by=['project_id']) }}

with projects as (

    select
        project_id,
        name
    from {{ ref('stg_projects') }}
    where is_live

),

tests as (

    select
        test_id,
        project_id,
        name,
        test_type,
        test_data_source_id,
        control_data_source_id,
        quality_dimension
    from {{ ref('stg_tests') }}
    where is_live

),

latest_executions as (

    select
        test_id,
        result
    from {{ ref('vw_dataset_test_executions') }}
    where latest_test_execution_index = 1

),

final as (

    select
        projects.project_id,
        projects.name as project_name,
        tests.test_id,
        tests.name as test_name,
        tests.test_type,
        tests.test_data_source_id,
        tests.control_data_source_id,
        tests.quality_dimension,
        latest_executions.result as overall_result_status
    from tests
    inner join projects
        on tests.project_id = projects.project_id
    left join latest_executions
        on tests.test_id = latest_executions.test_id

)

select * from final
