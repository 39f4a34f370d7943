told_once as (

    select
        *,
        row_number() over (partition by $of_state, feed_is_before order by feed_is_before) = 1 as feed_is_first,
        bool_or(feed_is_before) over (partition by $of_state) as feed_is_taken,
        count_if(not feed_is_before) over (partition by $of_moment) - count_if(feed_is_before) over (partition by $of_moment) as feed_balance,
        feed_is_before and $has_key_alone as feed_has_key_alone
    from timed

),

counted as (

    select
        *,
        feed_balance >= 0
        and count_if(feed_is_first and not feed_is_before) over (partition by $of_moment) >= count_if(feed_is_first and feed_is_before) over (partition by $of_moment) as feed_may_stay,
        -- A before-row that has the key alone may take any state back.
        bool_or(not feed_is_deleted and not feed_is_taken) over (partition by $of_moment)
        and not bool_or(feed_has_key_alone) over (partition by $of_moment) as feed_is_left,
        -- Such rows are alike: how many updates there were is not known.
        count_if(feed_has_key_alone) over (partition by $of_moment) > count_if(feed_is_first and not feed_is_before) over (partition by $of_moment) as feed_may_leave,
        feed_id <> min(case when feed_balance > 0 then feed_id end) over (partition by $moment)
        or feed_id <> max(case when feed_balance > 0 then feed_id end) over (partition by $moment) as feed_may_be_another,
        bool_or(feed_is_deleted and not feed_is_before) over (partition by $of_moment) as feed_is_said
    from told_once

),

paired as (

    select
        *,
        feed_may_stay
        and not (feed_may_leave and coalesce(feed_may_be_another, false))
        and coalesce(
            last_value(case when feed_is_said or not feed_may_stay then false when feed_is_left then true end) ignore nulls over (
                partition by feed_id
                order by $moment
                range between unbounded preceding and current row
            ),
            not coalesce(feed_may_be_another, false)
        )$is_dated as feed_has_after
    from counted

)
