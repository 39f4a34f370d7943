with data_sources as (

    select
        meta_data_source_id,
        owner_user_id,
        name
    from {{ ref('stg_meta_data_sources') }}
    where is_live

),

projects as (

    select
        project_id,
        name
    from {{ ref('stg_projects') }}
    where is_live

),

reports as (

    select
        report_id,
        owner_user_id,
        name
    from {{ ref('stg_reports') }}
    where is_live

)

select
    'Data Source' as object_type,
    meta_data_source_id as object_id,
    name as object_name,
    owner_user_id
from data_sources
union all
select
    'Project' as object_type,
    project_id as object_id,
    name as object_name,
    cast(null as bigint) as owner_user_id
from projects
union all
select
    'Report' as object_type,
    report_id as object_id,
    name as object_name,
    owner_user_id
from reports
