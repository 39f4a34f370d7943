-- depends_on: secure_datasets.raw_deliveries: what is newer than it may be missing here.
with source as (

    select * from repository_sample.project_permissions

),

known_roles as (

    -- A role that carries several permissions has a row for each.
    select distinct
        role_name,
        true as is_known,
        translate(role_name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') as role_key
    from secure_datasets.role_permissions
    where object_type = 'Project'

),

deliveries as (

    select
        case when nullif(btrim(cast(id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') rlike '^[+-]?[0-9]+$' then try_cast(nullif(btrim(cast(id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as bigint) end as id,
        struct(
            cast(id as string) as id,
            cast(project_id as string) as project_id,
            cast(user_id as string) as user_id,
            cast(user_group_id as string) as user_group_id,
            cast(role_name as string) as role_name,
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
        nullif(btrim(cast(delivery.project_id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as project_id,
        nullif(btrim(cast(delivery.user_id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as user_id,
        nullif(btrim(cast(delivery.user_group_id as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as user_group_id,
        nullif(btrim(cast(delivery.role_name as string), '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '') as role_name,
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
        case when trimmed.project_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.project_id as bigint) end as project_id,
        case when trimmed.user_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.user_id as bigint) end as user_id,
        case when trimmed.user_group_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.user_group_id as bigint) end as user_group_id,
        known_roles.role_name as role_name,
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
            when trimmed.user_id is not null
                and (case when trimmed.user_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.user_id as bigint) end) is null
                then 'unreadable user_id'
            when trimmed.user_group_id is not null
                and (case when trimmed.user_group_id rlike '^[+-]?[0-9]+$' then try_cast(trimmed.user_group_id as bigint) end) is null
                then 'unreadable user_group_id'
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
            when trimmed.project_id is null then 'missing project_id'
            when (trimmed.user_id is null) = (trimmed.user_group_id is null)
                then 'holder'
            when known_roles.is_known is null then 'role'
        end as rejection_reason
    from trimmed
    left join known_roles
        on translate(trimmed.role_name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') <=> known_roles.role_key

)

select
    id as project_permission_id,
    case when rejection_reason is null then project_id end as project_id,
    case when rejection_reason is null then user_id end as user_id,
    case when rejection_reason is null then user_group_id end as user_group_id,
    case when rejection_reason is null then role_name end as role_name,
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
