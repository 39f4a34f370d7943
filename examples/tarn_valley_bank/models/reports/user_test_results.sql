with tests as (

    select
        user_id,
        project_id,
        project_name,
        overall_result_status
    from {{ ref('vw_secure_dataset_tests') }}

),

final as (

    select
        user_id,
        project_id,
        project_name,
        count(*) as test_count,
        count_if(overall_result_status = 'Failed') as failing_test_count
    from tests
    group by user_id, project_id, project_name

)

select * from final
