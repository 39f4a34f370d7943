with source as (

    select * from repository_sample.events

),

deliveries as (

    select
        struct(
            try_cast(id as string) as id,
            try_cast(context as string) as context,
            try_cast(category as string) as category,
            try_cast(object_type as string) as object_type,
            try_cast(event_name as string) as event_name,
            try_cast(project_id as string) as project_id,
            try_cast(meta_data_source_id as string) as meta_data_source_id,
            try_cast(actor_user_id as string) as actor_user_id,
            case
                when typeof(event_date) = 'timestamp'
                    then to_csv(
                        struct(event_date),
                        map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                    )
                else try_cast(event_date as string)
            end as event_date,
            try_cast(is_active as string) as is_active,
            case
                when typeof(date_created) = 'timestamp'
                    then to_csv(
                        struct(date_created),
                        map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                    )
                else try_cast(date_created as string)
            end as date_created,
            case
                when typeof(date_modified) = 'timestamp'
                    then to_csv(
                        struct(date_modified),
                        map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                    )
                else try_cast(date_modified as string)
            end as date_modified,
            try_cast(created_by as string) as created_by,
            try_cast(modified_by as string) as modified_by,
            case
                when typeof(sf_date_created) = 'timestamp'
                    then to_csv(
                        struct(sf_date_created),
                        map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                    )
                else try_cast(sf_date_created as string)
            end as sf_date_created
        ) as delivery
    from source

),

-- One step for trimming, one for reading: the engine works each out once for a value.
trimmed_keys as (

    select
        delivery,
        case
            when delivery.id between '!' and '~' and right(delivery.id, 1) between '!' and '~'
                then delivery.id
            else nullif(btrim(delivery.id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as id_text,
        case
            when delivery.is_active between '!' and '~' and right(delivery.is_active, 1) between '!' and '~'
                then delivery.is_active
            else nullif(btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as is_active_text,
        case
            when delivery.date_modified between '!' and '~' and right(delivery.date_modified, 1) between '!' and '~'
                then delivery.date_modified
            else nullif(btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as date_modified_text,
        case
            when delivery.sf_date_created between '!' and '~' and right(delivery.sf_date_created, 1) between '!' and '~'
                then delivery.sf_date_created
            else nullif(btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as sf_date_created_text
    from deliveries

),

read_keys as (

    select
        delivery,
        case when id_text rlike '^[+-]?[0-9]+$' then try_cast(id_text as bigint) end as id,
        coalesce(case
            when is_active_text = 'true' then true
            when is_active_text = 'false' then false
            else case translate(is_active_text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
                when 'true' then true
                when '1' then true
                when 'false' then false
                when '0' then false
            end
        end, false) as is_active,
        date_modified_text,
        case
            when date_modified_text rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and date_modified_text not like '0000%'
                then try_cast(concat(date_modified_text, 'Z') as timestamp)
        end as date_modified,
        sf_date_created_text,
        case
            when sf_date_created_text rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and sf_date_created_text not like '0000%'
                then try_cast(concat(sf_date_created_text, 'Z') as timestamp)
        end as sf_date_created
    from trimmed_keys

),

dated as (

    select
        delivery,
        id,
        is_active,
        date_modified,
        sf_date_created,
        case
            when date_modified_text is not null
                then coalesce(unix_micros(date_modified), 9223372036854775807)
            when is_active then -9223372036854775808
            else 9223372036854775807
        end as modified_order,
        case
            when sf_date_created_text is not null
                then coalesce(unix_micros(sf_date_created), 9223372036854775807)
            when is_active then -9223372036854775808
            else 9223372036854775807
        end as loaded_order
    from read_keys

),

ranked as (

    -- Equally new deliveries that say different things: none of them is taken.
    select
        id,
        delivery,
        date_modified,
        sf_date_created,
        row_number() over newest_first as delivery_number,
        min(delivery) over equally_new != max(delivery) over equally_new as is_conflict
    from dated
    window
        newest_first as (
            partition by id
            order by modified_order desc, loaded_order desc, is_active asc
        ),
        equally_new as (
            partition by id
            order by modified_order desc, loaded_order desc, is_active asc
            range between current row and current row
        )

),

trimmed as (

    select
        id,
        delivery,
        is_conflict,
        date_modified,
        sf_date_created,
        case
            when delivery.context between '!' and '~' and right(delivery.context, 1) between '!' and '~'
                then delivery.context
            else nullif(btrim(delivery.context, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as context_text,
        case
            when delivery.category between '!' and '~' and right(delivery.category, 1) between '!' and '~'
                then delivery.category
            else nullif(btrim(delivery.category, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as category_text,
        case
            when delivery.object_type between '!' and '~' and right(delivery.object_type, 1) between '!' and '~'
                then delivery.object_type
            else nullif(btrim(delivery.object_type, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as object_type_text,
        case
            when delivery.event_name between '!' and '~' and right(delivery.event_name, 1) between '!' and '~'
                then delivery.event_name
            else nullif(btrim(delivery.event_name, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as event_name_text,
        case
            when delivery.project_id between '!' and '~' and right(delivery.project_id, 1) between '!' and '~'
                then delivery.project_id
            else nullif(btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as project_id_text,
        case
            when delivery.meta_data_source_id between '!' and '~' and right(delivery.meta_data_source_id, 1) between '!' and '~'
                then delivery.meta_data_source_id
            else nullif(btrim(delivery.meta_data_source_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as meta_data_source_id_text,
        case
            when delivery.actor_user_id between '!' and '~' and right(delivery.actor_user_id, 1) between '!' and '~'
                then delivery.actor_user_id
            else nullif(btrim(delivery.actor_user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as actor_user_id_text,
        case
            when delivery.event_date between '!' and '~' and right(delivery.event_date, 1) between '!' and '~'
                then delivery.event_date
            else nullif(btrim(delivery.event_date, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as event_date_text,
        case
            when delivery.is_active between '!' and '~' and right(delivery.is_active, 1) between '!' and '~'
                then delivery.is_active
            else nullif(btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as is_active_text,
        case
            when delivery.date_created between '!' and '~' and right(delivery.date_created, 1) between '!' and '~'
                then delivery.date_created
            else nullif(btrim(delivery.date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as date_created_text,
        case
            when delivery.date_modified between '!' and '~' and right(delivery.date_modified, 1) between '!' and '~'
                then delivery.date_modified
            else nullif(btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as date_modified_text,
        case
            when delivery.created_by between '!' and '~' and right(delivery.created_by, 1) between '!' and '~'
                then delivery.created_by
            else nullif(btrim(delivery.created_by, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as created_by_text,
        case
            when delivery.modified_by between '!' and '~' and right(delivery.modified_by, 1) between '!' and '~'
                then delivery.modified_by
            else nullif(btrim(delivery.modified_by, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as modified_by_text,
        case
            when delivery.sf_date_created between '!' and '~' and right(delivery.sf_date_created, 1) between '!' and '~'
                then delivery.sf_date_created
            else nullif(btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as sf_date_created_text
    from ranked
    -- A delivery whose id can't be read competes with no other.
    where delivery_number = 1 or id is null

),

typed as (

    select
        id,
        delivery,
        is_conflict,
        case translate(context_text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
            when 'global' then 'Global'
            when 'project' then 'Project'
            when 'data source' then 'Data Source'
        end as context,
        category_text as category,
        object_type_text as object_type,
        event_name_text as event_name,
        project_id_text,
        case when project_id_text rlike '^[+-]?[0-9]+$' then try_cast(project_id_text as bigint) end as project_id,
        meta_data_source_id_text,
        case when meta_data_source_id_text rlike '^[+-]?[0-9]+$' then try_cast(meta_data_source_id_text as bigint) end as meta_data_source_id,
        actor_user_id_text,
        case when actor_user_id_text rlike '^[+-]?[0-9]+$' then try_cast(actor_user_id_text as bigint) end as actor_user_id,
        event_date_text,
        case
            when event_date_text rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and event_date_text not like '0000%'
                then try_cast(concat(event_date_text, 'Z') as timestamp)
        end as event_date,
        is_active_text,
        case
            when is_active_text = 'true' then true
            when is_active_text = 'false' then false
            else case translate(is_active_text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
                when 'true' then true
                when '1' then true
                when 'false' then false
                when '0' then false
            end
        end as is_active,
        date_created_text,
        case
            when date_created_text rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and date_created_text not like '0000%'
                then try_cast(concat(date_created_text, 'Z') as timestamp)
        end as date_created,
        date_modified_text,
        date_modified,
        created_by_text as created_by,
        modified_by_text as modified_by,
        sf_date_created_text,
        sf_date_created
    from trimmed

),

judged as (

    select
        *,
        case
            when id is null then 'unreadable id'
            when is_conflict then 'conflict'
            when project_id_text is not null and project_id is null then 'unreadable project_id'
            when meta_data_source_id_text is not null and meta_data_source_id is null then 'unreadable meta_data_source_id'
            when actor_user_id_text is not null and actor_user_id is null then 'unreadable actor_user_id'
            when event_date_text is not null and event_date is null then 'unreadable event_date'
            when is_active_text is not null and is_active is null then 'unreadable is_active'
            when date_created_text is not null and date_created is null then 'unreadable date_created'
            when date_modified_text is not null and date_modified is null then 'unreadable date_modified'
            when sf_date_created_text is not null and sf_date_created is null then 'unreadable sf_date_created'
            when context is null then 'context'
            when context = 'Project' and project_id is null then 'context key'
            when context = 'Data Source' and meta_data_source_id is null then 'context key'
        end as rejection_reason
    from typed

)

select
    id as event_id,
    case when rejection_reason is null then context end as context,
    case when rejection_reason is null then category end as category,
    case when rejection_reason is null then object_type end as object_type,
    case when rejection_reason is null then event_name end as event_name,
    case when rejection_reason is null then project_id end as project_id,
    case when rejection_reason is null then meta_data_source_id end as meta_data_source_id,
    case when rejection_reason is null then actor_user_id end as actor_user_id,
    case when rejection_reason is null then event_date end as event_date,
    case when rejection_reason is null then date_created end as date_created,
    case when rejection_reason is null then date_modified end as date_modified,
    case when rejection_reason is null then created_by end as created_by,
    case when rejection_reason is null then modified_by end as modified_by,
    rejection_reason is null and coalesce(is_active, false) as is_live,
    rejection_reason,
    case when rejection_reason is not null then delivery.id end as raw_id,
    case
        when rejection_reason is not null then to_json(delivery, map('ignoreNullFields', 'false'))
    end as raw_row,
    false as is_deleted,
    cast(null as timestamp) as deleted_on,
    sf_date_created
from judged
