(
    select
        table_name,
        as_delivered,
        $texts
    from (
        select /*+ repartition(table_name, id) */ * from (
            $tables
        ) as of_all
    ) as untrimmed
) as texts
