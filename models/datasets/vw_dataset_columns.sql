{{ config(cluster_by=['data_source_id']) }}

with tables as (

    select
        data_source_id,
        data_source_name,
        schema_id,
        schema_name,
        table_id,
        table_name,
        full_path
    from {{ ref('vw_dataset_tables') }}

),

columns as (

    select
        meta_column_id,
        meta_table_id,
        name,
        data_type,
        sequence
    from {{ ref('stg_meta_columns') }}
    where is_live

),

final as (

    select
        tables.data_source_id,
        tables.data_source_name,
        tables.schema_id,
        tables.schema_name,
        tables.table_id,
        tables.table_name,
        columns.meta_column_id as column_id,
        columns.name as column_name,
        concat(tables.full_path, '.', columns.name) as full_path,
        columns.data_type,
        columns.sequence
    from columns
    inner join tables
        on columns.meta_table_id = tables.table_id

)

select * from final
