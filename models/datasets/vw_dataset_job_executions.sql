{{ config(cluster_by=['project_id']) }}

with job_executions as (

    select
        job_execution_id,
        job_id,
        batch_id,
        date_started,
        date_completed,
        passed_count,
        failed_count,
        error_count
    from {{ ref('stg_job_executions') }}
    where is_live

),

-- History keeps its project and names whatever became of them: live or not.
jobs as (

    select
        job_id,
        project_id,
        name
    from {{ ref('stg_jobs') }}

),

projects as (

    select
        project_id,
        name
    from {{ ref('stg_projects') }}

),

final as (

    select
        jobs.project_id,
        projects.name as project_name,
        job_executions.job_id,
        jobs.name as job_name,
        job_executions.job_execution_id,
        job_executions.batch_id,
        job_executions.date_started,
        job_executions.date_completed,
        {{ secure_datasets.whole_seconds_between(
            'job_executions.date_started', 'job_executions.date_completed'
        ) }} as duration,
        job_executions.passed_count,
        job_executions.failed_count,
        job_executions.error_count
    from job_executions
    left join jobs
        on job_executions.job_id = jobs.job_id
    left join projects
        on jobs.project_id = projects.project_id

)

select * from final
