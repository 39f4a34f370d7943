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
        struct(
            try_cast(id as string) as id,
            try_cast(project_id as string) as project_id,
            try_cast(user_id as string) as user_id,
            try_cast(user_group_id as string) as user_group_id,
            try_cast(role_name as string) as role_name,
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
            when delivery.project_id between '!' and '~' and right(delivery.project_id, 1) between '!' and '~'
                then delivery.project_id
            else nullif(btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as project_id_text,
        case
            when delivery.user_id between '!' and '~' and right(delivery.user_id, 1) between '!' and '~'
                then delivery.user_id
            else nullif(btrim(delivery.user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as user_id_text,
        case
            when delivery.user_group_id between '!' and '~' and right(delivery.user_group_id, 1) between '!' and '~'
                then delivery.user_group_id
            else nullif(btrim(delivery.user_group_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as user_group_id_text,
        case
            when delivery.role_name between '!' and '~' and right(delivery.role_name, 1) between '!' and '~'
                then delivery.role_name
            else nullif(btrim(delivery.role_name, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end as role_name_text,
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
        project_id_text,
        case when project_id_text rlike '^[+-]?[0-9]+$' then try_cast(project_id_text as bigint) end as project_id,
        user_id_text,
        case when user_id_text rlike '^[+-]?[0-9]+$' then try_cast(user_id_text as bigint) end as user_id,
        user_group_id_text,
        case when user_group_id_text rlike '^[+-]?[0-9]+$' then try_cast(user_group_id_text as bigint) end as user_group_id,
        known_roles.role_name as role_name,
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
        sf_date_created,
        known_roles.is_known is not null as is_known_role
    from trimmed
    left join known_roles
        on translate(role_name_text, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') <=> known_roles.role_key

),

judged as (

    select
        *,
        case
            when id is null then 'unreadable id'
            when is_conflict then 'conflict'
            when project_id_text is not null and project_id is null then 'unreadable project_id'
            when user_id_text is not null and user_id is null then 'unreadable user_id'
            when user_group_id_text is not null and user_group_id is null then 'unreadable user_group_id'
            when is_active_text is not null and is_active is null then 'unreadable is_active'
            when date_created_text is not null and date_created is null then 'unreadable date_created'
            when date_modified_text is not null and date_modified is null then 'unreadable date_modified'
            when sf_date_created_text is not null and sf_date_created is null then 'unreadable sf_date_created'
            when project_id_text is null then 'missing project_id'
            when (user_id is null) = (user_group_id is null) then 'holder'
            when not is_known_role then 'role'
        end as rejection_reason
    from typed

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
    false as is_deleted,
    cast(null as timestamp) as deleted_on,
    sf_date_created
from judged
