-- Rendered from what secure_datasets_config() says of 'executions_in_total'.
with business_units_of_groups as (

    -- Business units of groups: the keys of each user, once each.
    select distinct
        users.user_id,
        mapping.business_unit as filter_key
    from secure_datasets.map_user_group_business_units as mapping
    inner join secure_datasets.vw_secure_user_roles as users
        on mapping.user_group_id = users.user_group_id

),

tier_rows as (

    select
        count(*) as executions,
        count_if(fct_test_executions.result = 'Failed') as failed_executions,
        business_units_of_groups.user_id
    from secure_datasets.fct_test_executions as fct_test_executions
    left join secure_datasets.dim_data_sources as dim_data_sources
        on fct_test_executions.data_source_id = dim_data_sources.data_source_id
    inner join business_units_of_groups
        on dim_data_sources.business_unit = business_units_of_groups.filter_key
    group by business_units_of_groups.user_id

)

select
    executions,
    failed_executions,
    user_id
from tier_rows
