select
    table_name as table_name,
    id as row_id,
    cast(id as string) as raw_id,
    $linking_columns,
    date_created,
    created_by,
    'not live' as reason,
    not_live as detail,
    cast(null as timestamp) as since,
    cast(null as string) as changed_by,
    cast(null as string) as raw_row,
    true as is_current
from (
    select
        named.*,
        $not_live as not_live
    from (
        $rows
    ) as named
    $joins
) as named
where not_live is not null
