with tables (view_name, table_name) as (
    {{ secure_datasets.values_query(
        secure_datasets.view_references()['tables'], 2
    ) | indent }}
),

decisions as (

    {{ secure_datasets.decisions_in_force() | indent }}

),

final as (

    select
        outcomes.user_id,
        outcomes.view_name,
        tables.table_name,
        case decisions.strictness
            when 2 then 'Transform to Deny'
            when 3 then 'Deny'
        end as table_decision
    from {{ ref('view_outcomes') }} as outcomes
    inner join tables
        on outcomes.view_name = tables.view_name
    left join decisions
        on
            outcomes.user_id = decisions.user_id
            and tables.table_name = decisions.object_name
    where
        outcomes.outcome != 'Deny'
        and coalesce(decisions.strictness, 3) >= 2

)

select * from final
