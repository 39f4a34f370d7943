followed as (

    select
        *,
        case feed_snapshot$next_snapshot
        end as next_snapshot,
        min(feed_snapshot) over (
            partition by id
            order by feed_snapshot
            range between 1 following and unbounded following
        ) as next_there
    from dated

),

contenders as (

    select
        id,
        feed_snapshot as since,
        delivery,
        is_active,
        is_deleted,
        date_modified,
        sf_date_created,
        $orders
    from followed
    union all
    -- A snapshot may have several rows of an id.
    select distinct
        id,
        next_snapshot as since,
        null as delivery,
        false as is_active,
        true as is_deleted,
        null as date_modified,
        timestamp_micros(next_snapshot) as sf_date_created,
        $no_orders
    from followed
    where next_snapshot < coalesce(next_there, next_snapshot + 1)

)
