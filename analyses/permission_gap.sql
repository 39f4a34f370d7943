-- Which project members lack metadata access on a linked data source?
with members as (

    select
        user_id,
        project_id
    from {{ ref('vw_secure_user_project_access') }}
    where project_id = {{ var('project_id', 3) }}

),

links as (

    -- Nothing keeps the application from linking the same pair twice.
    select distinct
        project_id,
        meta_data_source_id
    from {{ ref('stg_project_data_sources') }}
    where is_live

),

data_sources as (

    select
        meta_data_source_id,
        name
    from {{ ref('stg_meta_data_sources') }}
    where is_live

),

seen as (

    select
        user_id,
        meta_data_source_id
    from {{ ref('vw_secure_user_data_source_access') }}

)

select
    members.user_id,
    concat_ws(' ', users.first_name, users.last_name) as user_name,
    links.meta_data_source_id,
    data_sources.name as data_source_name
from members
inner join links
    on members.project_id = links.project_id
inner join data_sources
    on links.meta_data_source_id = data_sources.meta_data_source_id
left join {{ ref('stg_users') }} as users
    on members.user_id = users.user_id
left join seen
    on
        members.user_id = seen.user_id
        and links.meta_data_source_id = seen.meta_data_source_id
where seen.user_id is null
order by members.user_id, links.meta_data_source_id
