moments as (

    select
        *,
        coalesce(unix_micros(sf_date_created), -9223372036854775808) as since
    from dated

),

measured as (

    select
        *,
        $keys as recency,
        max($keys) over (
            partition by id
            order by since
            range between unbounded preceding and current row
        ) as newest_until_then
    from moments

),

-- A delivery that was older than another when it came was never the newest.
contenders as (

    select * from measured
    where recency = newest_until_then

)
