-- Warns when rows are rejected, and fails where so many are that the feed must be broken.
{{ config(
    severity='error',
    warn_if='> 0',
    error_if='> ' ~ var('rejected_rows_error_threshold'),
) }}

select
    table_name,
    raw_id,
    reason
from {{ ref('rejected_rows') }}
