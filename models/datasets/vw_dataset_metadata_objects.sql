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
        data_source_id,
        data_source_name,
        table_id,
        table_name,
        full_path
    from {{ ref('vw_dataset_tables') }}

),

columns as (

    select
        data_source_id,
        data_source_name,
        column_id,
        column_name,
        full_path
    from {{ ref('vw_dataset_columns') }}

),

final as (

    select
        data_sources.meta_data_source_id as data_source_id,
        data_sources.name as data_source_name,
        'Schema' as object_type,
        schemas.meta_schema_id as object_id,
        schemas.name as object_name,
        concat(data_sources.name, '.', schemas.name) as full_path
    from schemas
    inner join data_sources
        on schemas.meta_data_source_id = data_sources.meta_data_source_id
    union all
    select
        data_source_id,
        data_source_name,
        'Table' as object_type,
        table_id as object_id,
        table_name as object_name,
        full_path
    from tables
    union all
    select
        data_source_id,
        data_source_name,
        'Column' as object_type,
        column_id as object_id,
        column_name as object_name,
        full_path
    from columns

)

select * from final
