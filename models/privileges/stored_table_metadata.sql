with catalogue (
    object_name,
    description,
    reads,
    text,
    warehouse,
    scheduling_state,
    last_suspended_on,
    suspend_reason_code
) as (
    {#- Not indented: the texts have lines of their own. -#}
    {{ secure_datasets.values_query(secure_datasets.privileges().metadata(), 8) }}
),

readers as (

    select
        role_name,
        object_name,
        bool_or(operation = 'see all metadata') as sees_all
    from {{ ref('permitted_operations') }}
    where permitted and operation in ('see all metadata', 'see metadata')
    group by role_name, object_name

),

final as (

    select
        readers.role_name,
        catalogue.object_name,
        catalogue.description,
        case when readers.sees_all then catalogue.reads end as reads,
        case when readers.sees_all then catalogue.text end as text,
        case when readers.sees_all then catalogue.warehouse end as warehouse,
        case when readers.sees_all then catalogue.scheduling_state end
            as scheduling_state,
        case
            -- UTC, unless the text names a zone; a time without a day would be today's.
            when
                readers.sees_all
                and catalogue.last_suspended_on rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}'
                then coalesce(
                    try_cast(concat(catalogue.last_suspended_on, 'Z') as timestamp),
                    try_cast(
                        concat(catalogue.last_suspended_on, ' 00:00:00Z') as timestamp
                    ),
                    case
                        when catalogue.last_suspended_on like '%:%'
                            then try_cast(catalogue.last_suspended_on as timestamp)
                    end
                )
        end as last_suspended_on,
        case when readers.sees_all then catalogue.suspend_reason_code end
            as suspend_reason_code
    from readers
    inner join catalogue
        on readers.object_name = catalogue.object_name

)

select * from final
