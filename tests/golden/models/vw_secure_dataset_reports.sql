-- Rendered from the entry 'reports' of secure_datasets_config().
select
    base.report_id,
    base.report_name,
    access.user_id,
    access.access_type
from secure_datasets.vw_dataset_reports as base
inner join secure_datasets.vw_secure_user_report_access as access
    on base.report_id = access.report_id
