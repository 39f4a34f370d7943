select
    report_id,
    name as report_name
from {{ ref('stg_reports') }}
where is_live
