{{ config(
    cluster_by=['context', 'project_id', 'data_source_id'],
    folders_by={'Project': 'project_id', 'Data Source': 'data_source_id'},
) }}

with events as (

    select
        event_id,
        context,
        category,
        object_type,
        event_name,
        project_id,
        meta_data_source_id as data_source_id,
        actor_user_id,
        event_date
    from {{ ref('stg_events') }}
    where is_live

)

select * from events
