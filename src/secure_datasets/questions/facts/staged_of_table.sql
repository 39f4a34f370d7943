select
    '$name' as table_name,
    $key as id,
    is_live as staged_is_live,
    $is_active as staged_is_live_in_its_time,
    $time as staged_time,
    is_deleted as staged_is_deleted,
    deleted_on as staged_deleted_on,
    date_modified as staged_date_modified,
    modified_by as staged_modified_by,
    $staged_columns,
    is_deleted,
    date_modified,
    sf_date_created,
    $is_active as is_active,
    raw_row,
    rejection_reason,
    $has_clock as has_clock
from $staged
