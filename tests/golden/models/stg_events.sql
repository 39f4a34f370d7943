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
                when typeof(event_date) = 'timestamp' and event_date is not null
                    then to_csv(struct(event_date), map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
                else try_cast(event_date as string)
            end as event_date,
            try_cast(is_active as string) as is_active,
            case
                when typeof(date_created) = 'timestamp' and date_created is not null
                    then to_csv(struct(date_created), map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
                else try_cast(date_created as string)
            end as date_created,
            case
                when typeof(date_modified) = 'timestamp' and date_modified is not null
                    then to_csv(struct(date_modified), map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
                else try_cast(date_modified as string)
            end as date_modified,
            try_cast(created_by as string) as created_by,
            try_cast(modified_by as string) as modified_by,
            case
                when typeof(sf_date_created) = 'timestamp' and sf_date_created is not null
                    then to_csv(struct(sf_date_created), map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS'))
                else try_cast(sf_date_created as string)
            end as sf_date_created
        ) as delivery
    from source

),

read_keys as (

    select
        delivery,
        coalesce(
            case when delivery.id between '+' and ':' and right(delivery.id, 1) between '0' and '9' then try_cast(delivery.id as bigint) end,
            case when btrim(delivery.id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') between '+' and ':' and right(btrim(delivery.id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9' then try_cast(btrim(delivery.id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') as bigint) end
        ) as id,
        coalesce(coalesce(
            case
            when delivery.is_active = 'true' then true
            when delivery.is_active = 'false' then false
            else case translate(delivery.is_active, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
                when 'true' then true
                when '1' then true
                when 'false' then false
                when '0' then false
            end
        end,
            case
            when btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') = 'true' then true
            when btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') = 'false' then false
            else case translate(btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
                when 'true' then true
                when '1' then true
                when 'false' then false
                when '0' then false
            end
        end
        ), false) as is_active,
        coalesce(
            case
            when right(delivery.date_modified, 1) between '0' and '9'
                and delivery.date_modified rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and delivery.date_modified not like '0000%'
                then try_cast(concat(delivery.date_modified, 'Z') as timestamp)
        end,
            case
            when right(btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9'
                and btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') not like '0000%'
                then try_cast(concat(btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 'Z') as timestamp)
        end
        ) as date_modified,
        coalesce(
            case
            when right(delivery.sf_date_created, 1) between '0' and '9'
                and delivery.sf_date_created rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and delivery.sf_date_created not like '0000%'
                then try_cast(concat(delivery.sf_date_created, 'Z') as timestamp)
        end,
            case
            when right(btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9'
                and btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') not like '0000%'
                then try_cast(concat(btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 'Z') as timestamp)
        end
        ) as sf_date_created
    from deliveries

),

dated as (

    select
        delivery,
        id,
        is_active,
        date_modified,
        sf_date_created,
        case
            when date_modified is not null then unix_micros(date_modified)
            when btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 9223372036854775807
            when is_active then -9223372036854775808
            else 9223372036854775807
        end as modified_order,
        case
            when sf_date_created is not null then unix_micros(sf_date_created)
            when btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 9223372036854775807
            when is_active then -9223372036854775808
            else 9223372036854775807
        end as loaded_order
    from read_keys

),

ranked as (

    -- Equally new deliveries that say different things: none of them is taken. Until the
    -- first row the window has the newest delivery and its equals.
    select
        id,
        delivery,
        date_modified,
        sf_date_created,
        row_number() over newest_first as delivery_number,
        min(delivery) over newest_first != max(delivery) over newest_first as is_conflict
    from dated
    window
        newest_first as (
            partition by id
            order by modified_order desc, loaded_order desc, is_active asc
        )

),

typed as (

    select
        id,
        delivery,
        is_conflict,
        case translate(case
            when delivery.context between '!' and '~' and right(delivery.context, 1) between '!' and '~'
                then delivery.context
            else nullif(btrim(delivery.context, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
            when 'global' then 'Global'
            when 'project' then 'Project'
            when 'data source' then 'Data Source'
        end as context,
        case
            when delivery.category between '!' and '~' and right(delivery.category, 1) between '!' and '~'
                then delivery.category
            else nullif(btrim(delivery.category, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as category,
        case
            when delivery.object_type between '!' and '~' and right(delivery.object_type, 1) between '!' and '~'
                then delivery.object_type
            else nullif(btrim(delivery.object_type, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as object_type,
        case
            when delivery.event_name between '!' and '~' and right(delivery.event_name, 1) between '!' and '~'
                then delivery.event_name
            else nullif(btrim(delivery.event_name, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as event_name,
        coalesce(
            case when delivery.project_id between '+' and ':' and right(delivery.project_id, 1) between '0' and '9' then try_cast(delivery.project_id as bigint) end,
            case when btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') between '+' and ':' and right(btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9' then try_cast(btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') as bigint) end
        ) as project_id,
        coalesce(
            case when delivery.meta_data_source_id between '+' and ':' and right(delivery.meta_data_source_id, 1) between '0' and '9' then try_cast(delivery.meta_data_source_id as bigint) end,
            case when btrim(delivery.meta_data_source_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') between '+' and ':' and right(btrim(delivery.meta_data_source_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9' then try_cast(btrim(delivery.meta_data_source_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') as bigint) end
        ) as meta_data_source_id,
        coalesce(
            case when delivery.actor_user_id between '+' and ':' and right(delivery.actor_user_id, 1) between '0' and '9' then try_cast(delivery.actor_user_id as bigint) end,
            case when btrim(delivery.actor_user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') between '+' and ':' and right(btrim(delivery.actor_user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9' then try_cast(btrim(delivery.actor_user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') as bigint) end
        ) as actor_user_id,
        coalesce(
            case
            when right(delivery.event_date, 1) between '0' and '9'
                and delivery.event_date rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and delivery.event_date not like '0000%'
                then try_cast(concat(delivery.event_date, 'Z') as timestamp)
        end,
            case
            when right(btrim(delivery.event_date, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9'
                and btrim(delivery.event_date, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and btrim(delivery.event_date, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') not like '0000%'
                then try_cast(concat(btrim(delivery.event_date, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 'Z') as timestamp)
        end
        ) as event_date,
        coalesce(
            case
            when delivery.is_active = 'true' then true
            when delivery.is_active = 'false' then false
            else case translate(delivery.is_active, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
                when 'true' then true
                when '1' then true
                when 'false' then false
                when '0' then false
            end
        end,
            case
            when btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') = 'true' then true
            when btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') = 'false' then false
            else case translate(btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
                when 'true' then true
                when '1' then true
                when 'false' then false
                when '0' then false
            end
        end
        ) as is_active,
        coalesce(
            case
            when right(delivery.date_created, 1) between '0' and '9'
                and delivery.date_created rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and delivery.date_created not like '0000%'
                then try_cast(concat(delivery.date_created, 'Z') as timestamp)
        end,
            case
            when right(btrim(delivery.date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9'
                and btrim(delivery.date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?$'
                and btrim(delivery.date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') not like '0000%'
                then try_cast(concat(btrim(delivery.date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 'Z') as timestamp)
        end
        ) as date_created,
        date_modified,
        case
            when delivery.created_by between '!' and '~' and right(delivery.created_by, 1) between '!' and '~'
                then delivery.created_by
            else nullif(btrim(delivery.created_by, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as created_by,
        case
            when delivery.modified_by between '!' and '~' and right(delivery.modified_by, 1) between '!' and '~'
                then delivery.modified_by
            else nullif(btrim(delivery.modified_by, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as modified_by,
        sf_date_created
    from ranked
    -- A delivery whose id can't be read competes with no other.
    where delivery_number = 1 or id is null

),

judged as (

    select
        *,
        case
            when id is null then 'unreadable id'
            when is_conflict then 'conflict'
            when project_id is null and btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable project_id'
            when meta_data_source_id is null and btrim(delivery.meta_data_source_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable meta_data_source_id'
            when actor_user_id is null and btrim(delivery.actor_user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable actor_user_id'
            when event_date is null and btrim(delivery.event_date, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable event_date'
            when is_active is null and btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable is_active'
            when date_created is null and btrim(delivery.date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable date_created'
            when date_modified is null and btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable date_modified'
            when sf_date_created is null and btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable sf_date_created'
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
