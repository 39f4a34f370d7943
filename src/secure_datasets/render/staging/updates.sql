told_once as (

    select
        *,
        row_number() over (partition by $of_state, feed_is_before order by feed_is_before) = 1 as feed_is_first,
        bool_or(feed_is_before) over (partition by $of_state) as feed_is_taken,
        sum(case when feed_is_before then -1 else 1 end) over (partition by $of_moment) as feed_balance
    from timed

),

counted as (

    select
        *,
        feed_balance >= 0
        and sum(case when not feed_is_first then 0 when feed_is_before then -1 else 1 end) over (partition by $of_moment) >= 0 as feed_may_stay,
        -- A before-row that has the key alone may take any state back.
        bool_or(not feed_is_deleted and not feed_is_taken) over (partition by $of_moment)
        and not bool_or(feed_is_before and $has_key_alone) over (partition by $of_moment) as feed_is_left,
        bool_or(feed_is_deleted and not feed_is_before) over (partition by $of_moment) as feed_is_said
    from told_once

),

paired as (

    select
        *,
        feed_may_stay
        and coalesce(
            last_value(case when feed_is_said or not feed_may_stay then false when feed_is_left then true end) ignore nulls over (
                partition by feed_id
                order by $moment
                range between unbounded preceding and current row
            ),
            max(feed_balance) over (partition by $moment) <= 0
        )$is_dated as feed_has_after
    from counted

)
