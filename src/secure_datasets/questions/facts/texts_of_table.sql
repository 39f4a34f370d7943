select
    '$name' as table_name,
    $as_delivered as as_delivered,
    $values
from (
    select
        struct(
            $fields
        ) as delivery$beside
    from $raw_rows
) as deliveries
