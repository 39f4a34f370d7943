with needs (object_name, needed_on, needed_type, needed_name) as (
    {{ secure_datasets.values_query(
        secure_datasets.privileges().needs(), 4
    ) | indent }}
),

grants as (

    select
        role_name,
        privilege,
        object_type,
        object_name
    from {{ ref('privilege_grants') }}

),

permitted_operations as (

    select
        role_name,
        operation,
        object_name,
        permitted,
        missing
    from {{ ref('permitted_operations') }}

),

stored_tables as (

    select
        needed_type,
        needed_name
    from needs
    where needed_on = 'itself'

),

-- The role of a session may use secondary roles; a refresh on schedule has none.
never_filled as (

    select
        'created, never filled' as finding,
        created.role_name,
        created.object_name,
        filled.missing as detail
    from permitted_operations as created
    inner join permitted_operations as filled
        on
            created.role_name = filled.role_name
            and created.object_name = filled.object_name
    where
        created.operation = 'create'
        and created.permitted
        and filled.operation = 'create and fill on schedule'
        and not filled.permitted

),

-- A grant counts for objects of its own type alone.
wrong_type as (

    select
        'grant on the wrong type' as finding,
        grants.role_name,
        grants.object_name,
        concat(
            grants.privilege, ' on ', grants.object_type, ', which is a ',
            needs.needed_type
        ) as detail
    from grants
    inner join needs
        on grants.object_name = needs.needed_name
    where grants.object_type in ('TABLE', 'VIEW', 'STORED TABLE')
    group by
        grants.role_name,
        grants.object_name,
        grants.privilege,
        grants.object_type,
        needs.needed_type
    having grants.object_type != needs.needed_type

),

-- To refresh is what OPERATE gives and MONITOR does not.
metadata_readers as (

    select role_name
    from {{ ref('role_operations') }}
    group by role_name
    having bool_and(operation in ('see metadata', 'see all metadata'))

),

more_than_monitor as (

    select
        'OPERATE where MONITOR is enough' as finding,
        refreshed.role_name,
        refreshed.object_name,
        'reads metadata only' as detail
    from permitted_operations as refreshed
    inner join metadata_readers
        on refreshed.role_name = metadata_readers.role_name
    where refreshed.operation = 'refresh' and refreshed.permitted

),

owners as (

    -- Several grants may make the same role an owner.
    select distinct
        grants.role_name,
        stored_tables.needed_name as object_name
    from grants
    inner join stored_tables
        on {{ secure_datasets.privileges().object_is_needed(
            'grants', 'stored_tables'
        ) | indent(8) }}
    where grants.privilege = 'OWNERSHIP'

),

owner_cannot_refresh as (

    select
        'owner lacks what refreshes need' as finding,
        owners.role_name,
        owners.object_name,
        filled.missing as detail
    from owners
    inner join permitted_operations as filled
        on
            owners.role_name = filled.role_name
            and owners.object_name = filled.object_name
    where
        filled.operation = 'create and fill on schedule'
        and not filled.permitted

),

final as (

    select * from never_filled
    union all
    select * from wrong_type
    union all
    select * from more_than_monitor
    union all
    select * from owner_cannot_refresh

)

select * from final
