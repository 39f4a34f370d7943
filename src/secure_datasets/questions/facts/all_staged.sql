select
    *,
    $moment as moment
from (
    select
        *,
        $modified_order as modified_order,
        $loaded_order as loaded_order
    from (
        select
            table_name,
            id,
            $staged_columns,
            is_deleted,
            raw_row,
            rejection_reason,
            has_clock,
            -- Whether there is one is all that is asked of it.
            case when rejection_reason is null then cast(unix_micros(date_modified) as string) else date_modified_delivered end as date_modified_text,
            case when rejection_reason is null then date_modified else $date_modified end as date_modified,
            -- Whether there is one is all that is asked of it.
            case when rejection_reason is null then cast(unix_micros(sf_date_created) as string) else sf_date_created_delivered end as sf_date_created_text,
            case when rejection_reason is null then sf_date_created else $sf_date_created end as sf_date_created,
            case when rejection_reason is null then is_active else coalesce($is_active, false) end as is_active
        from (
            select
                *,
                $date_modified_text as date_modified_delivered,
                $sf_date_created_text as sf_date_created_delivered,
                $is_active_text as is_active_delivered
            from (
                select /*+ repartition(table_name, id) */ * from (
                    $tables
                ) as of_all
            ) as staged_rows
        ) as delivered_texts
    ) as read_rows
) as ordered
