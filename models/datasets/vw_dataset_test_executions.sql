{{ config(cluster_by=['project_id', 'test_data_source_id']) }}

with test_executions as (

    select
        test_execution_id,
        job_step_execution_id,
        batch_id,
        test_id,
        test_version_id,
        test_version_number,
        is_active_version,
        test_data_source_id,
        control_data_source_id,
        code_test_evaluation_result_id,
        date_started,
        date_completed,
        passed_count,
        failed_count,
        error_count,
        test_row_count,
        control_row_count,
        matched_row_count,
        error_message
    from {{ ref('stg_test_executions') }}
    where is_live

),

-- History keeps its project and names whatever became of them: live or not.
tests as (

    select
        test_id,
        project_id,
        name
    from {{ ref('stg_tests') }}

),

projects as (

    select
        project_id,
        name
    from {{ ref('stg_projects') }}

),

data_sources as (

    select
        meta_data_source_id,
        name
    from {{ ref('stg_meta_data_sources') }}

),

final as (

    select
        test_executions.test_execution_id,
        test_executions.job_step_execution_id,
        test_executions.batch_id,
        test_executions.test_id,
        tests.name as test_name,
        test_executions.test_version_id,
        test_executions.test_version_number,
        test_executions.is_active_version,
        tests.project_id,
        projects.name as project_name,
        test_executions.test_data_source_id,
        test_data_sources.name as test_data_source,
        test_executions.control_data_source_id,
        control_data_sources.name as control_data_source,
        test_executions.code_test_evaluation_result_id,
        {{ secure_datasets.evaluation_result(
            'test_executions.code_test_evaluation_result_id'
        ) }} as result,
        test_executions.date_started,
        test_executions.date_completed,
        {{ secure_datasets.whole_seconds_between(
            'test_executions.date_started', 'test_executions.date_completed'
        ) }} as duration,
        test_executions.passed_count,
        test_executions.failed_count,
        test_executions.error_count,
        test_executions.test_row_count,
        test_executions.control_row_count,
        test_executions.matched_row_count,
        test_executions.error_message,
        cast(row_number() over (
            partition by test_executions.test_id
            order by
                test_executions.date_started desc nulls last,
                test_executions.test_execution_id desc
        ) as bigint) as latest_test_execution_index,
        cast(row_number() over (
            partition by test_executions.test_id
            order by
                test_executions.date_started asc nulls first,
                test_executions.test_execution_id asc
        ) as bigint) as earliest_test_execution_index
    from test_executions
    left join tests
        on test_executions.test_id = tests.test_id
    left join projects
        on tests.project_id = projects.project_id
    left join data_sources as test_data_sources
        on test_executions.test_data_source_id = test_data_sources.meta_data_source_id
    left join data_sources as control_data_sources
        on
            test_executions.control_data_source_id
            = control_data_sources.meta_data_source_id

)

select * from final
