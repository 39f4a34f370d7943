{{ config(cluster_by=['project_id']) }}

with projects as (

    select
        project_id,
        name
    from {{ ref('stg_projects') }}
    where is_live

),

jobs as (

    select
        job_id,
        project_id,
        name
    from {{ ref('stg_jobs') }}
    where is_live

),

final as (

    select
        projects.project_id,
        projects.name as project_name,
        jobs.job_id,
        jobs.name as job_name
    from jobs
    inner join projects
        on jobs.project_id = projects.project_id

)

select * from final
