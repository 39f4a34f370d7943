with executions as (

    select
        {{ secure_datasets.utc_day('date_started') }} as day,
        result
    from {{ ref('vw_dataset_test_executions') }}
    where date_started is not null

),

final as (

    select
        day,
        count(*) as execution_count,
        count_if(result = 'Failed') as failed_execution_count
    from executions
    group by day

)

select * from final
