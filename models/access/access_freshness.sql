with raw_deliveries as (

    select
        table_name,
        newest_delivery,
        read_at
    from {{ ref('raw_deliveries') }}
    where table_name in ({{ tables_that_decide_access() }})

),

access_views as (

    select explode(array(
        '{{ ref('vw_secure_user_data_source_access').identifier }}',
        '{{ ref('vw_secure_user_project_access').identifier }}',
        '{{ ref('vw_secure_user_results_access').identifier }}'
    )) as access_view

),

final as (

    select
        access_views.access_view,
        current_timestamp() as resolved_at,
        min(raw_deliveries.read_at) as read_at,
        max(raw_deliveries.newest_delivery) as newest_delivery
    from access_views
    cross join raw_deliveries
    group by access_views.access_view

)

select * from final
