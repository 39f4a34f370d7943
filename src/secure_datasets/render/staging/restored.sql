compared as (

    select
        *,
        max(case when not feed_is_open then greatest(unix_micros(feed_from), unix_micros(feed_until)) end) over (partition by feed_id) as last_end,
        max(case when feed_is_open then feed_from end) over (partition by feed_id) as last_open,
        bool_or(feed_is_open and feed_is_deleted) over (partition by feed_id) as is_gone
    from measured

),

judged as (

    select
        *,
        coalesce(feed_is_open and not is_gone and feed_from = last_open and unix_micros(feed_from) < last_end, false) as is_restored
    from compared

),

restored as (

    select
        $columns,
        feed_id,
        feed_until_text,
        feed_until,
        feed_is_open,
        case when is_restored then timestamp_micros(last_end + 1) else feed_from end as feed_from,
        case when is_restored then $begins else sf_date_created end as sf_date_created
    from judged

)
