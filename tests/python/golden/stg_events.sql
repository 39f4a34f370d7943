-- depends_on: secure_datasets.raw_deliveries: what is newer than it may be missing here.
with source as (

    select * from repository_sample.events

),

deliveries as (

    select
        case when nullif(btrim(cast(id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') rlike '^[+-]?[0-9]+$' then try_cast(nullif(btrim(cast(id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as bigint) end as id,
        struct(
            cast(id as string) as id,
            cast(context as string) as context,
            cast(category as string) as category,
            cast(object_type as string) as object_type,
            cast(event_name as string) as event_name,
            cast(project_id as string) as project_id,
            cast(meta_data_source_id as string) as meta_data_source_id,
            cast(actor_user_id as string) as actor_user_id,
            case
                when typeof(event_date) = 'timestamp'
                    then to_csv(
                        struct(event_date),
                        map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                    )
                else cast(event_date as string)
            end as event_date,
            cast(is_active as string) as is_active,
            case
                when typeof(date_created) = 'timestamp'
                    then to_csv(
                        struct(date_created),
                        map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                    )
                else cast(date_created as string)
            end as date_created,
            case
                when typeof(date_modified) = 'timestamp'
                    then to_csv(
                        struct(date_modified),
                        map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                    )
                else cast(date_modified as string)
            end as date_modified,
            cast(created_by as string) as created_by,
            cast(modified_by as string) as modified_by,
            case
                when typeof(sf_date_created) = 'timestamp'
                    then to_csv(
                        struct(sf_date_created),
                        map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')
                    )
                else cast(sf_date_created as string)
            end as sf_date_created
        ) as delivery
    from source

),

dated as (

    select
        id,
        delivery,
        coalesce(case translate(nullif(btrim(cast(delivery.is_active as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), ''), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
            when 'true' then true
            when '1' then true
            when 'false' then false
            when '0' then false
        end, false) as is_active,
        case
            when nullif(btrim(cast(delivery.date_modified as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') is not null
                then coalesce(unix_micros(case
            when nullif(btrim(cast(delivery.date_modified as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                and nullif(btrim(cast(delivery.date_modified as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') not like '0000%'
                then try_cast(concat(substring(nullif(btrim(cast(delivery.date_modified as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), ''), 1, 26), 'Z') as timestamp)
        end), 9223372036854775807)
            when coalesce(case translate(nullif(btrim(cast(delivery.is_active as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), ''), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
            when 'true' then true
            when '1' then true
            when 'false' then false
            when '0' then false
        end, false) then -9223372036854775808
            else 9223372036854775807
        end as modified_order,
        case
            when nullif(btrim(cast(delivery.sf_date_created as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') is not null
                then coalesce(unix_micros(case
            when nullif(btrim(cast(delivery.sf_date_created as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                and nullif(btrim(cast(delivery.sf_date_created as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') not like '0000%'
                then try_cast(concat(substring(nullif(btrim(cast(delivery.sf_date_created as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), ''), 1, 26), 'Z') as timestamp)
        end), 9223372036854775807)
            when coalesce(case translate(nullif(btrim(cast(delivery.is_active as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), ''), 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
            when 'true' then true
            when '1' then true
            when 'false' then false
            when '0' then false
        end, false) then -9223372036854775808
            else 9223372036854775807
        end as loaded_order
    from deliveries

),

ranked as (

    select
        id,
        delivery,
        rank() over (
            partition by id
            order by modified_order desc, loaded_order desc, is_active asc
        ) as delivery_rank
    from dated

),

newest as (

    -- A delivery whose id can't be read competes with no other.
    select
        id,
        delivery,
        case
            when id is not null and count(*) over (partition by id) > 1
                then to_json(delivery, map('ignoreNullFields', 'false'))
        end as tied_delivery
    from ranked
    where delivery_rank = 1 or id is null

),

compared as (

    select
        id,
        delivery,
        min(tied_delivery) over (partition by id)
        != max(tied_delivery) over (partition by id) as is_conflict,
        row_number() over (partition by id order by tied_delivery) as tie_number
    from newest

),

trimmed as (

    select
        id,
        delivery,
        is_conflict,
        nullif(btrim(cast(delivery.context as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as context,
        nullif(btrim(cast(delivery.category as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as category,
        nullif(btrim(cast(delivery.object_type as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as object_type,
        nullif(btrim(cast(delivery.event_name as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as event_name,
        nullif(btrim(cast(delivery.project_id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as project_id,
        nullif(btrim(cast(delivery.meta_data_source_id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as meta_data_source_id,
        nullif(btrim(cast(delivery.actor_user_id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as actor_user_id,
        nullif(btrim(cast(delivery.event_date as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as event_date,
        nullif(btrim(cast(delivery.is_active as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as is_active,
        nullif(btrim(cast(delivery.date_created as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as date_created,
        nullif(btrim(cast(delivery.date_modified as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as date_modified,
        nullif(btrim(cast(delivery.created_by as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as created_by,
        nullif(btrim(cast(delivery.modified_by as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as modified_by,
        nullif(btrim(cast(delivery.sf_date_created as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as sf_date_created
    from compared
    where tie_number = 1 or id is null

),

judged as (

    select
        trimmed.id,
        trimmed.delivery,
        case translate(trimmed.context, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
            when 'global' then 'Global'
            when 'project' then 'Project'
            when 'data source' then 'Data Source'
        end as context,
        trimmed.category as category,
        trimmed.object_type as object_type,
        trimmed.event_name as event_name,
        case when trimmed.project_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.project_id as bigint) end as project_id,
        case when trimmed.meta_data_source_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.meta_data_source_id as bigint) end as meta_data_source_id,
        case when trimmed.actor_user_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.actor_user_id as bigint) end as actor_user_id,
        case
            when trimmed.event_date rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                and trimmed.event_date not like '0000%'
                then try_cast(concat(substring(trimmed.event_date, 1, 26), 'Z') as timestamp)
        end as event_date,
        case translate(trimmed.is_active, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
            when 'true' then true
            when '1' then true
            when 'false' then false
            when '0' then false
        end as is_active,
        case
            when trimmed.date_created rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                and trimmed.date_created not like '0000%'
                then try_cast(concat(substring(trimmed.date_created, 1, 26), 'Z') as timestamp)
        end as date_created,
        case
            when trimmed.date_modified rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                and trimmed.date_modified not like '0000%'
                then try_cast(concat(substring(trimmed.date_modified, 1, 26), 'Z') as timestamp)
        end as date_modified,
        trimmed.created_by as created_by,
        trimmed.modified_by as modified_by,
        case
            when trimmed.sf_date_created rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                and trimmed.sf_date_created not like '0000%'
                then try_cast(concat(substring(trimmed.sf_date_created, 1, 26), 'Z') as timestamp)
        end as sf_date_created,
        case
            when id is null then 'unreadable id'
            when is_conflict then 'conflict'
            when trimmed.project_id is not null
                and (case when trimmed.project_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.project_id as bigint) end) is null
                then 'unreadable project_id'
            when trimmed.meta_data_source_id is not null
                and (case when trimmed.meta_data_source_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.meta_data_source_id as bigint) end) is null
                then 'unreadable meta_data_source_id'
            when trimmed.actor_user_id is not null
                and (case when trimmed.actor_user_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.actor_user_id as bigint) end) is null
                then 'unreadable actor_user_id'
            when trimmed.event_date is not null
                and (case
                    when trimmed.event_date rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                        and trimmed.event_date not like '0000%'
                        then try_cast(concat(substring(trimmed.event_date, 1, 26), 'Z') as timestamp)
                end) is null
                then 'unreadable event_date'
            when trimmed.is_active is not null
                and (case translate(trimmed.is_active, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
                    when 'true' then true
                    when '1' then true
                    when 'false' then false
                    when '0' then false
                end) is null
                then 'unreadable is_active'
            when trimmed.date_created is not null
                and (case
                    when trimmed.date_created rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                        and trimmed.date_created not like '0000%'
                        then try_cast(concat(substring(trimmed.date_created, 1, 26), 'Z') as timestamp)
                end) is null
                then 'unreadable date_created'
            when trimmed.date_modified is not null
                and (case
                    when trimmed.date_modified rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                        and trimmed.date_modified not like '0000%'
                        then try_cast(concat(substring(trimmed.date_modified, 1, 26), 'Z') as timestamp)
                end) is null
                then 'unreadable date_modified'
            when trimmed.sf_date_created is not null
                and (case
                    when trimmed.sf_date_created rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?$'
                        and trimmed.sf_date_created not like '0000%'
                        then try_cast(concat(substring(trimmed.sf_date_created, 1, 26), 'Z') as timestamp)
                end) is null
                then 'unreadable sf_date_created'
            when (case translate(trimmed.context, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz')
                    when 'global' then 'Global'
                    when 'project' then 'Project'
                    when 'data source' then 'Data Source'
                end) is null then 'context'
            when translate(trimmed.context, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') = 'project' and trimmed.project_id is null
                then 'context key'
            when translate(trimmed.context, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') = 'data source' and trimmed.meta_data_source_id is null
                then 'context key'
        end as rejection_reason
    from trimmed

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
    sf_date_created
from judged
