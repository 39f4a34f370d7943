{{ config(cluster_by=['project_id', 'meta_data_source_id']) }}

with template_test_executions as (

    select
        template_test_execution_id,
        test_id,
        batch_id,
        meta_data_source_id,
        control_data_source_id,
        code_test_evaluation_result_id,
        date_started,
        date_completed,
        child_test_count
    from {{ ref('stg_template_test_executions') }}
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
        template_test_executions.template_test_execution_id,
        template_test_executions.test_id,
        tests.name as test_name,
        tests.project_id,
        projects.name as project_name,
        template_test_executions.meta_data_source_id,
        test_data_sources.name as meta_data_source,
        template_test_executions.control_data_source_id,
        control_data_sources.name as control_data_source,
        template_test_executions.batch_id,
        template_test_executions.code_test_evaluation_result_id,
        {{ secure_datasets.evaluation_result(
            'template_test_executions.code_test_evaluation_result_id'
        ) }} as result,
        template_test_executions.date_started,
        template_test_executions.date_completed,
        {{ secure_datasets.whole_seconds_between(
            'template_test_executions.date_started', 'template_test_executions.date_completed'
        ) }} as duration,
        template_test_executions.child_test_count
    from template_test_executions
    left join tests
        on template_test_executions.test_id = tests.test_id
    left join projects
        on tests.project_id = projects.project_id
    left join data_sources as test_data_sources
        on
            template_test_executions.meta_data_source_id
            = test_data_sources.meta_data_source_id
    left join data_sources as control_data_sources
        on
            template_test_executions.control_data_source_id
            = control_data_sources.meta_data_source_id

)

select * from final
