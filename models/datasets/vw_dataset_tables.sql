{{ config(cluster_by=['data_source_id']) }}

with data_sources as (

    select
        meta_data_source_id,
        name
    from {{ ref('stg_meta_data_sources') }}
    where is_live

),

schemas as (

    select
        meta_schema_id,
        meta_data_source_id,
        name
    from {{ ref('stg_meta_schemas') }}
    where is_live

),

tables as (

    select
        meta_table_id,
        meta_schema_id,
        name,
        table_type,
        trust_score,
        quality_score,
        coverage_score
    from {{ ref('stg_meta_tables') }}
    where is_live

),

final as (

    select
        data_sources.meta_data_source_id as data_source_id,
        data_sources.name as data_source_name,
        schemas.meta_schema_id as schema_id,
        schemas.name as schema_name,
        tables.meta_table_id as table_id,
        tables.name as table_name,
        tables.table_type,
        concat(data_sources.name, '.', schemas.name, '.', tables.name) as full_path,
        tables.trust_score,
        tables.quality_score,
        tables.coverage_score
    from tables
    inner join schemas
        on tables.meta_schema_id = schemas.meta_schema_id
    inner join data_sources
        on schemas.meta_data_source_id = data_sources.meta_data_source_id

)

select * from final
