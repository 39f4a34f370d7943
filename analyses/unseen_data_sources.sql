-- Which data sources can't a user see?
with data_sources as (

    select
        meta_data_source_id,
        name
    from {{ ref('stg_meta_data_sources') }}
    where is_live

),

seen as (

    select meta_data_source_id
    from {{ ref('vw_secure_user_data_source_access') }}
    where user_id = {{ var('user_id', 8) }}

)

select
    data_sources.meta_data_source_id,
    data_sources.name as data_source_name
from data_sources
left join seen
    on data_sources.meta_data_source_id = seen.meta_data_source_id
where seen.meta_data_source_id is null
order by data_sources.meta_data_source_id
