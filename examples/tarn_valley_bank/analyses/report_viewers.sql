-- Who may view a report?
select
    user_id,
    access_type
from {{ ref('vw_secure_user_report_access') }}
where report_id = {{ var('report_id', 1) }}
order by user_id
