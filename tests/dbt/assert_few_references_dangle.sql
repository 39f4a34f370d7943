-- Warns when references name no live row, and fails where far more do than is normal.
{{ config(
    severity='error',
    fail_calc='coalesce(sum(rows), 0)',
    warn_if='> 0',
    error_if='> ' ~ var('dangling_references_error_threshold'),
) }}

select
    table_name,
    column_name,
    rows,
    example_id
from {{ ref('dangling_references') }}
