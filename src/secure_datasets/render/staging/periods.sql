begun as (

    select *
    from $step
    where coalesce(feed_from <= current_timestamp(), true)

),

numbered as (

    select
        id,
        feed_id,
        sf_date_created as begun_at,
        feed_until_text as gone_at,
        feed_from,
        feed_until,
        feed_is_open
    from begun

),

followed as (

    select
        *,
        -- A successor whose beginning can't be read is none.
        min(unix_micros(feed_from)) over (
            partition by feed_id
            order by feed_from asc nulls first, feed_is_open desc, feed_until asc nulls last
            rows between 1 following and unbounded following
        ) as next_from
    from numbered
    where feed_id is not null

),

gone as (

    select
        id,
        -- An end before the beginning must not be outlived by it.
        case when feed_until < feed_from then begun_at else gone_at end as gone_at
    from followed
    where
        not feed_is_open
        and (next_from is null or (next_from > unix_micros(feed_until) + 1000 and coalesce(next_from > unix_micros(feed_from) + 1000, true)))

)
