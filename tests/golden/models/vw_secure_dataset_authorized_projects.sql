-- Rendered from what secure_datasets_config() says of 'authorized_projects'.
with held_roles_of_users as (

    select
        user_id,
        named_struct(
            'Data Office', array_contains(role_names, 'Data Office'),
            'Global Admin', array_contains(role_names, 'Global Admin')
        ) as held_roles
    from secure_datasets.user_role_names

),

tier_rows as (

    select
        base.project_id,
        base.project_name,
        access.user_id,
        access.access_type
    from secure_datasets.dim_projects as base
    inner join secure_datasets.vw_secure_user_project_access as access
        on base.project_id = access.project_id

),

authorized_rows as (

    -- View authorization: nothing by Deny, nor without an outcome; by Allow all of it; by
    -- Transform what the rules below leave.
    select
        tier_rows.project_id,
        tier_rows.project_name,
        tier_rows.user_id,
        tier_rows.access_type,
        outcomes.outcome as view_outcome
    from tier_rows
    inner join secure_datasets.view_outcomes as outcomes
        on tier_rows.user_id = outcomes.user_id
    where
        outcomes.view_name = 'vw_secure_dataset_authorized_projects'
        and outcomes.outcome in ('Allow', 'Transform')

),

rows_with_roles as (

    select
        authorized_rows.project_id,
        authorized_rows.project_name,
        authorized_rows.user_id,
        authorized_rows.access_type,
        authorized_rows.view_outcome,
        users.held_roles
    from authorized_rows
    left join held_roles_of_users as users
        on authorized_rows.user_id = users.user_id

),

guarded_rows as (

    -- The barrier: no condition and no mask is evaluated for a row that is hidden above.
    select
        guarded.project_id,
        rows_with_roles.project_name,
        rows_with_roles.user_id,
        rows_with_roles.access_type,
        rows_with_roles.view_outcome,
        rows_with_roles.held_roles
    from rows_with_roles
        lateral view inline(array(named_struct(
            'project_id', rows_with_roles.project_id
        ))) guarded as project_id

),

visible_rows as (

    -- Conditions: a row is seen through any role whose condition is true of it.
    select *
    from guarded_rows
    where
        view_outcome = 'Allow'
        or (
            held_roles['Data Office']
            and (project_id = 7)
        )

)

-- Masks, on visible rows only; their conditions see unmasked values. A condition that
-- is null masks: `(not (...)) is not true` does so where `is not false` would miss the
-- null of an `in (select ...)`.
select
    project_id,
    case
        when view_outcome = 'Allow' then project_name
        when held_roles['Global Admin'] is not true
            then try_cast(concat('project ', project_id) as string)
        else project_name
    end as project_name,
    user_id,
    access_type
from visible_rows
