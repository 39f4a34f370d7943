with decisions as (

    select * from $judged_decisions

),

decided as (

    select
        user_id,
        object_type,
        object_id,
        count_if(verdict = 'unreadable') as unreadable_decisions,
        max(case when verdict = 'counts' and decision = 'keep' then decided_on end) as kept_on,
        max(case when verdict in ('counts', 'void') and decision = 'remove' then decided_on end) as removed_on
    from decisions
    where user_id is not null and object_type is not null and object_id is not null
    group by user_id, object_type, object_id

),

newest as (

    select
        user_id,
        object_type,
        object_id,
        unreadable_decisions,
        case when kept_on > removed_on or removed_on is null then kept_on else removed_on end as decided_on,
        case when kept_on > removed_on or removed_on is null then case when kept_on is not null then 'keep' end else 'remove' end as decision
    from decided

),

seen_then as (

    -- Several people may have made the same decision on one day.
    select
        newest.user_id,
        newest.object_type,
        newest.object_id,
        collect_set(decisions.seen) as seen,
        min(decisions.decided_by_user_id) as decided_by_user_id
    from newest
    inner join decisions
        on
            newest.user_id = decisions.user_id
            and newest.object_type = decisions.object_type
            and newest.object_id = decisions.object_id
            and newest.decided_on = decisions.decided_on
            and newest.decision = decisions.decision
    where decisions.verdict = 'counts' or (decisions.verdict = 'void' and decisions.decision = 'remove')
    group by newest.user_id, newest.object_type, newest.object_id

),

$shown_ways,

-- Only for accesses with a decision: no further access has to be compared.
$seen_now,

access_now as (

    -- A user may see both tables and results of a data source.
    select distinct user_id, object_type, object_id
    from (
        $shown_by_tiers
    ) as shown_by_tiers

),

compared as (

    select
        access_now.user_id,
        access_now.object_type,
        access_now.object_id,
        seen_now.seen,
        newest.user_id is not null as is_decided,
        newest.unreadable_decisions,
        newest.decision,
        newest.decided_on,
        seen_then.decided_by_user_id,
        case when newest.decision is not null then coalesce(array_contains(seen_then.seen, seen_now.seen), false) end as is_as_seen,
        cast(date_add(newest.decided_on, $review_days) as date) as ends_on
    from access_now
    left join newest
        on
            access_now.user_id = newest.user_id
            and access_now.object_type = newest.object_type
            and access_now.object_id = newest.object_id
    left join seen_then
        on
            access_now.user_id = seen_then.user_id
            and access_now.object_type = seen_then.object_type
            and access_now.object_id = seen_then.object_id
    left join seen_now
        on
            access_now.user_id = seen_now.user_id
            and access_now.object_type = seen_now.object_type
            and access_now.object_id = seen_now.object_id

),

told as (

    select
        *,
        case
            when not is_decided then 'never reviewed'
            when decision = 'remove' then 'to be removed'
            when unreadable_decisions > 0 then 'unreadable'
            when decision is null then 'void'
            when not is_as_seen then 'new since'
            when ends_on < cast($judged_on as date) then 'overdue'
            else 'certified'
        end as status
    from compared

),

final as (

    select
        user_id,
        object_type,
        object_id,
        status,
        case when status in ('certified', 'overdue') then ends_on end as certified_until,
        decision,
        decided_by_user_id,
        decided_on,
        is_as_seen,
        seen
    from told

)

select * from final
