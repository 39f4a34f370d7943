numbered as (

    select
        *,
        $load as feed_load
    from timed

),

-- What no load can be read of was there before the first.
loads as (

    select
        feed_load,
        lead(feed_load) over (order by feed_load asc nulls first) as next_load,
        $next_times
    from (
        select
            feed_load,
            $times
        from numbered
        group by feed_load$is_whole
    ) as begun

),

loaded as (

    select
        numbered.*,
        loads.next_load,
        $loads_times
    from numbered
    inner join loads
        on numbered.feed_load <=> loads.feed_load

),

gone as (

    select
        min(loaded.id) as id,
        $gone
    from loaded
    left anti join loaded as later
        on
            loaded.feed_id = later.feed_id
            and loaded.next_load = later.feed_load
    where loaded.next_load is not null and loaded.feed_id is not null
    group by loaded.feed_id, $gone

)
