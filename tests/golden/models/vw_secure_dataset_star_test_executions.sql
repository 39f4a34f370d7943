-- Rendered from what secure_datasets_config() says of 'star_test_executions'.
with business_units_of_groups as (

    -- Business units of groups: the keys of each user.
    select
        users.user_id,
        mapping.business_unit as filter_key
    from secure_datasets.map_user_group_business_units as mapping
    inner join secure_datasets.vw_secure_user_roles as users
        on mapping.user_group_id = users.user_group_id

),

held_roles_of_users as (

    select
        user_id,
        named_struct(
            'Data Office', array_contains(role_names, 'Data Office'),
            'Operations', array_contains(role_names, 'Operations')
        ) as held_roles
    from secure_datasets.user_role_names

),

tier_rows as (

    select
        base.test_execution_id,
        base.test_id,
        base.project_id,
        base.data_source_id,
        base.control_data_source_id,
        base.day,
        base.result,
        base.passed_count,
        base.failed_count,
        base.error_count,
        access.user_id
    from secure_datasets.fct_test_executions as base
    inner join secure_datasets.vw_secure_user_results_access as access
        on
            base.project_id = access.project_id
            and base.data_source_id = access.meta_data_source_id
    -- The right on the second side, for the same user; one row at most, so none is doubled.
    left join secure_datasets.vw_secure_user_results_access as second_access
        on
            base.project_id = second_access.project_id
            and base.control_data_source_id = second_access.meta_data_source_id
            and access.user_id = second_access.user_id
    where
        (base.control_data_source_id is null or second_access.user_id is not null)

),

secured_rows as (

    -- Row security: the rows that lead to a key of their user.
    select
        tier_rows.test_execution_id,
        tier_rows.test_id,
        tier_rows.project_id,
        tier_rows.data_source_id,
        tier_rows.control_data_source_id,
        tier_rows.day,
        tier_rows.result,
        tier_rows.passed_count,
        tier_rows.failed_count,
        tier_rows.error_count,
        tier_rows.user_id
    from tier_rows
    inner join secure_datasets.dim_data_sources as dim_data_sources
        on tier_rows.data_source_id = dim_data_sources.data_source_id
    left semi join business_units_of_groups
        on
            tier_rows.user_id = business_units_of_groups.user_id
            and dim_data_sources.business_unit = business_units_of_groups.filter_key

),

rows_with_roles as (

    select
        secured_rows.test_execution_id,
        secured_rows.test_id,
        secured_rows.project_id,
        secured_rows.data_source_id,
        secured_rows.control_data_source_id,
        secured_rows.day,
        secured_rows.result,
        secured_rows.passed_count,
        secured_rows.failed_count,
        secured_rows.error_count,
        secured_rows.user_id,
        users.held_roles
    from secured_rows
    inner join held_roles_of_users as users
        on secured_rows.user_id = users.user_id

),

guarded_rows as (

    -- The barrier: no condition and no mask is evaluated for a row that is hidden above.
    select
        rows_with_roles.test_execution_id,
        rows_with_roles.test_id,
        rows_with_roles.project_id,
        rows_with_roles.data_source_id,
        rows_with_roles.control_data_source_id,
        rows_with_roles.day,
        guarded.result,
        rows_with_roles.passed_count,
        rows_with_roles.failed_count,
        rows_with_roles.error_count,
        rows_with_roles.user_id,
        rows_with_roles.held_roles
    from rows_with_roles
        lateral view inline(array(named_struct(
            'result', rows_with_roles.result
        ))) guarded as result

),

visible_rows as (

    -- Conditions: a row is seen through any role whose condition is true of it.
    select *
    from guarded_rows
    where
        held_roles['Data Office']
        or (
            held_roles['Operations']
            and (result = 'Failed' or result = 'Error')
        )

)

-- Masks, on visible rows only; their conditions see unmasked values. A condition that
-- is null masks: `(not (...)) is not true` does so where `is not false` would miss the
-- null of an `in (select ...)`.
select
    test_execution_id,
    test_id,
    project_id,
    data_source_id,
    control_data_source_id,
    day,
    result,
    passed_count,
    failed_count,
    case
        when (
            held_roles['Operations'] is not true
            and (not (result = 'Error')) is not true
        )
            then try_cast(0 as bigint)
        else error_count
    end as error_count,
    user_id
from visible_rows
