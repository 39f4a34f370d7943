select
    delivery.table_name,
    delivery.as_delivered,
    delivery.id as delivered_id,
    id,
    is_active,
    $columns,
    date_created,
    created_by,
    modified_order,
    loaded_order,
    $recency as recency,
    $moment as moment
from (
    $steps

    select * from dated
) as dated$until
