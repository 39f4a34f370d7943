with all_dated as (

    $all_dated

),

all_staged as (

    $all_staged

),

compared as (

    select
        all_dated.*,
        all_staged.staged_is_live,
        all_staged.staged_is_live_in_its_time,
        all_staged.staged_time,
        $staged_columns,
        all_staged.raw_row,
        all_staged.rejection_reason,
        all_dated.id is not null and (all_staged.id is null or all_dated.moment > all_staged.moment) as is_later
    from all_dated
    left join all_staged
        on all_dated.table_name = all_staged.table_name and all_dated.id = all_staged.id

),

ranked as (

    select
        *,
        rank() over newest_first = 1 as is_newest,
        min(as_delivered) over equally_new != max(as_delivered) over equally_new as is_conflict
    from compared
    window
        newest_first as (
            partition by table_name, id
            order by recency desc
        ),
        equally_new as (
            partition by table_name, id
            order by recency desc
            range between current row and current row
        )

),

delivered as (

    select
        *,
        $newest_columns
    from ranked
    window newest_first as (
        partition by table_name, id
        order by recency desc
    )

),

held_against as (

    select
        *,
        $staged_says as staged_says,
        $newest_says as newest_says
    from delivered

),

judged as (

    select
        *,
        case
            when newest_is_conflict then 'another of its time contradicts'
            else nullif(concat_ws(' and ', 'says ' || newest_says, case when not newest_is_active then 'is switched off' end), '')
        end as newest_detail,
        case
            when id is null then 'unreadable id'
            when is_later and is_active and is_newest and newest_is_conflict then 'not staged, conflict'
            when is_later and is_active and is_newest then 'not staged'
            when is_later and is_active and (newest_is_conflict or newest_says is not null or not newest_is_active) then 'not staged, superseded'
            when is_later then null
            when rejection_reason is not null then rejection_reason
            when staged_is_deleted then case when is_active then 'deleted' end
            -- One row stands for all that say the same.
            when staged_says is null and staged_is_live then null
            when staged_says is null
                then case when row_number() over same_first = 1 then case when staged_is_live_in_its_time then 'out of time' else 'switched off' end end
            when is_active then 'superseded'
        end as reason
    from held_against
    window same_first as (
        partition by table_name, id, is_later, staged_says is null
        order by modified_order, loaded_order, is_active, as_delivered
    )

)

select
    table_name as table_name,
    id as row_id,
    delivered_id as raw_id,
    $linking_columns,
    date_created,
    created_by,
    reason as reason,
    case reason when 'superseded' then 'says ' || staged_says when 'not staged, superseded' then newest_detail when 'out of time' then staged_time end as detail,
    case reason when 'deleted' then staged_deleted_on when 'switched off' then staged_date_modified end as since,
    case reason when 'switched off' then staged_modified_by end as changed_by,
    case when reason = rejection_reason then raw_row end as raw_row,
    case when newest_is_later then coalesce(reason = 'switched off' and newest_says is null and not newest_is_active and not newest_is_conflict, false) else true end as is_current
from judged
where reason is not null
