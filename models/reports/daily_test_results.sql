with executions as (

    select
        date_started,
        result
    from {{ ref('vw_dataset_test_executions') }}
    where date_started is not null

),

final as (

    select
        cast(date_started as date) as day,
        count(*) as execution_count,
        count_if(result = 'Failed') as failed_execution_count
    from executions
    group by cast(date_started as date)

)

select * from final
