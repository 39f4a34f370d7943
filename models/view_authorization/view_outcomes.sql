{%- set references = secure_datasets.view_references() -%}
with views (view_name) as (
    {{ secure_datasets.values_query(references['views'], 1) | indent }}
),

gates (view_name, owner_user_id, object_name) as (
    {{ secure_datasets.values_query(references['gates'], 3) | indent }}
),

tables (view_name, table_name) as (
    {{ secure_datasets.values_query(references['tables'], 2) | indent }}
),

decisions as (

    {{ secure_datasets.decisions_in_force() | indent }}

),

-- A view is closed to everybody while the owner of any view of its chain may not read
-- what that view reads. Without a decision, or without an owner, nobody may.
closed_views as (

    select
        gates.view_name,
        min(
            coalesce('owner ' || gates.owner_user_id, 'no owner')
            || ' on ' || gates.object_name
        ) as closed_by
    from gates
    left join decisions
        on
            cast(gates.owner_user_id as bigint) = decisions.user_id
            and gates.object_name = decisions.object_name
    where coalesce(decisions.strictness, 3) >= 2
    group by gates.view_name

),

-- The user's own rules on the tables at the ends of the chain; rules on views are none.
transformed_views as (

    select
        tables.view_name,
        decisions.user_id,
        min(tables.table_name) as table_name
    from tables
    inner join decisions
        on tables.table_name = decisions.object_name
    where decisions.has_rules = 1
    group by tables.view_name, decisions.user_id

),

users as (

    select user_id
    from {{ ref('stg_users') }}
    where is_live

),

final as (

    select
        users.user_id,
        views.view_name,
        case
            when closed_views.view_name is not null then 'Deny'
            when coalesce(decisions.strictness, 3) >= 2 then 'Deny'
            when transformed_views.view_name is not null then 'Transform'
            else 'Allow'
        end as outcome,
        case
            when closed_views.view_name is not null then closed_views.closed_by
            when coalesce(decisions.strictness, 3) >= 2
                then 'user on ' || views.view_name
            when transformed_views.view_name is not null
                then 'user on ' || transformed_views.table_name
            else 'user on ' || views.view_name
        end as decided_by
    from users
    cross join views
    left join closed_views
        on views.view_name = closed_views.view_name
    left join decisions
        on
            users.user_id = decisions.user_id
            and views.view_name = decisions.object_name
    left join transformed_views
        on
            users.user_id = transformed_views.user_id
            and views.view_name = transformed_views.view_name

)

select * from final
