with daily as (

    select
        day,
        execution_count,
        failed_execution_count
    from {{ ref('daily_test_results') }}

),

final as (

    select
        trunc(day, 'month') as month,
        sum(execution_count) as execution_count,
        sum(failed_execution_count) as failed_execution_count
    from daily
    group by trunc(day, 'month')

)

select * from final
