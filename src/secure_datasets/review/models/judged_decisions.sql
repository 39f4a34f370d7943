with delivered as (

    -- A table that is delivered twice has each decision twice.
    select distinct
        $trimmed
    from $review_decisions

),

decisions as (

    select
        case lower(object_type) when 'data source' then 'Data Source' when 'project' then 'Project' end as object_type,
        case when object_id rlike '^[+-]?[0-9]{1,19}$' then try_cast(object_id as bigint) end as object_id,
        case when user_id rlike '^[+-]?[0-9]{1,19}$' then try_cast(user_id as bigint) end as user_id,
        case when lower(seen) rlike '^v1-[0-9a-f]{32}$' then lower(seen) end as seen,
        case when lower(decision) in ('keep', 'remove') then lower(decision) end as decision,
        decided_by,
        case when decided_on rlike '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' then try_cast(decided_on as date) end as decided_on,
        concat(
            coalesce(object_type, 'no object type'), ' ', coalesce(object_id, 'without id'),
            ', user ', coalesce(user_id, 'without id'), ', seen ', coalesce(seen, 'nothing'),
            ': ', coalesce(decision, 'nothing'), ', by ', coalesce(decided_by, 'nobody'),
            ', on ', coalesce(decided_on, 'no day')
        ) as as_delivered
    from delivered

),

objects as (

    -- Live or not: the object may have been live on the day of the decision.
    select 'Data Source' as object_type, meta_data_source_id as object_id
    from $stg_meta_data_sources
    where meta_data_source_id is not null
    union
    select 'Project' as object_type, project_id as object_id
    from $stg_projects
    where project_id is not null

),

users as (

    -- A rejected row may have the id of a valid row.
    select
        user_id,
        max(is_live) as is_live,
        max($person) as person
    from $stg_users
    where user_id is not null
    group by user_id

),

names as (

    select cast(user_id as string) as name, user_id, 1 as kind from $stg_users
    union
    select $login as name, user_id, 2 as kind from $stg_users
    union
    select $email as name, user_id, 3 as kind from $stg_users

),

bearers as (

    select
        names.name,
        names.user_id,
        names.kind,
        names.kind = 1 as is_id,
        users.is_live,
        -- An id goes before all. Live users go before the others, then a login before an e-mail address.
        rank() over (partition by names.name order by names.kind = 1 desc, users.is_live desc, names.kind) as place
    from names
    inner join users
        on names.user_id = users.user_id
    where names.name is not null

),

called as (

    -- The oldest of several users: a later user with the same name can't become the decider.
    select
        name,
        min(user_id) as user_id,
        collect_set(user_id) as user_ids
    from bearers
    where place = 1
    group by name

)$deciders,

deciding as (

    -- One of several users with the name who may decide goes first: no row of another person takes a decision away.
    select
        decisions.*,
        bearers.user_id as decided_by_user_id,
        bearers.is_live as decider_is_live,
        $may_decide as may_decide,
        row_number() over (
            partition by $columns
            order by bearers.is_id desc, bearers.is_live desc, $may_decide desc, bearers.kind, bearers.user_id
        ) as place
    from decisions
    left join bearers
        on $decided_by = bearers.name$joins

),

known as (

    select
        decisions.*,
        -- If the name belongs to several users, the user may be one of them.
        coalesce(array_contains(called.user_ids, decisions.user_id), false) as is_own,
        deciding_users.person as decider,
        objects.object_id is not null as object_is_known,
        users.user_id is not null as user_is_known
    from deciding as decisions
    left join objects
        on
            decisions.object_type = objects.object_type
            and decisions.object_id = objects.object_id
    left join users
        on decisions.user_id = users.user_id
    left join called
        on $decided_by = called.name
    left join users as deciding_users
        on decisions.decided_by_user_id = deciding_users.user_id
    where decisions.place = 1

),

judged as (

    select
        *,
        case
            when object_type is null then 'the object type is neither Data Source nor Project'
            when not object_is_known then 'nothing of this type has the id'
            when not user_is_known then 'no user has the id'
            when seen is null then 'what was seen is not as a table of a review has it'
            when decision is null then 'the decision is neither keep nor remove'
            when decided_on is null then 'the day is not written like 2026-07-01'
            when decided_on > cast($judged_on as date) then 'the day is in the future'
            when decided_by_user_id is null then 'nobody is called as who decided'
        end as unreadable,
        case
            when is_own then 'decided by the person whose access it is'
            when not coalesce(decider_is_live, false) then concat('decided by ', $decider, ', who is not live')
            when not may_decide then concat('decided by ', $decider, '$not_allowed')
        end as void_since
    from known

),

contradicted as (

    -- Void decisions contradict nothing: nobody cancels a decision by a row that does not count.
    select object_type, object_id, user_id, decided_on
    from judged
    where unreadable is null and void_since is null
    group by object_type, object_id, user_id, decided_on
    having min(decision) != max(decision)

),

compared as (

    select
        judged.*,
        contradicted.user_id is not null and judged.unreadable is null and judged.void_since is null as is_contradicted
    from judged
    left join contradicted
        on
            judged.object_type = contradicted.object_type
            and judged.object_id = contradicted.object_id
            and judged.user_id = contradicted.user_id
            and judged.decided_on = contradicted.decided_on

),

final as (

    select
        object_type,
        object_id,
        user_id,
        seen,
        decision,
        decided_by_user_id,
        decided_on,
        case when unreadable is not null or is_contradicted then 'unreadable' when void_since is not null then 'void' else 'counts' end as verdict,
        coalesce(unreadable, case when is_contradicted then 'keep and remove were decided on one day' end, void_since) as problem,
        as_delivered
    from compared

)

select * from final
