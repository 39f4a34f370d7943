ranked as (

    -- Equally new deliveries that say different things: none of them is taken. Until the
    -- first row the window has the newest delivery and its equals.
    select
        $columns,
        row_number() over newest_first as delivery_number,
        min(delivery) over newest_first != max(delivery) over newest_first as is_conflict
    from $step
    window
        newest_first as (
            partition by $rivals
            $newest_first
        )

)
