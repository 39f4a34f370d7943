with data_sources as (

    select
        meta_data_source_id,
        name
    from {{ ref('stg_meta_data_sources') }}
    where is_live

),

business_units as (

    select
        meta_data_source_id,
        business_unit,
        division
    from {{ ref('data_source_business_units') }}

)

select
    data_sources.meta_data_source_id as data_source_id,
    data_sources.name as data_source_name,
    business_units.business_unit,
    business_units.division
from data_sources
left join business_units
    on data_sources.meta_data_source_id = business_units.meta_data_source_id
