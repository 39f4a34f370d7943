with source as (

    select * from repository_sample.project_permissions

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

known_roles as (

    -- A role that carries several permissions has a row for each.
    select distinct
        role_name,
        true as is_known,
        translate(role_name, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') as role_key
    from secure_datasets.role_permissions
    where object_type = 'Project'

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
        coalesce(
            case when delivery.project_id between '+' and ':' and right(delivery.project_id, 1) between '0' and '9' then try_cast(delivery.project_id as bigint) end,
            case when btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') between '+' and ':' and right(btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9' then try_cast(btrim(delivery.project_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') as bigint) end
        ) as project_id,
        coalesce(
            case when delivery.user_id between '+' and ':' and right(delivery.user_id, 1) between '0' and '9' then try_cast(delivery.user_id as bigint) end,
            case when btrim(delivery.user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') between '+' and ':' and right(btrim(delivery.user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9' then try_cast(btrim(delivery.user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') as bigint) end
        ) as user_id,
        coalesce(
            case when delivery.user_group_id between '+' and ':' and right(delivery.user_group_id, 1) between '0' and '9' then try_cast(delivery.user_group_id as bigint) end,
            case when btrim(delivery.user_group_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') between '+' and ':' and right(btrim(delivery.user_group_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), 1) between '0' and '9' then try_cast(btrim(delivery.user_group_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') as bigint) end
        ) as user_group_id,
        known_roles.role_name as role_name,
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
        sf_date_created,
        known_roles.is_known is not null as is_known_role
    from ranked
    left join known_roles
        on translate(case
            when delivery.role_name between '!' and '~' and right(delivery.role_name, 1) between '!' and '~'
                then delivery.role_name
            else nullif(btrim(delivery.role_name, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000'), '')
        end, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', 'abcdefghijklmnopqrstuvwxyz') <=> known_roles.role_key
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
            when user_id is null and btrim(delivery.user_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable user_id'
            when user_group_id is null and btrim(delivery.user_group_id, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable user_group_id'
            when is_active is null and btrim(delivery.is_active, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable is_active'
            when date_created is null and btrim(delivery.date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable date_created'
            when date_modified is null and btrim(delivery.date_modified, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable date_modified'
            when sf_date_created is null and btrim(delivery.sf_date_created, '\u0009\u000A\u000B\u000C\u000D\u0020\u0085\u00A0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200A\u2028\u2029\u202F\u205F\u3000') != '' then 'unreadable sf_date_created'
            when project_id is null then 'missing project_id'
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
