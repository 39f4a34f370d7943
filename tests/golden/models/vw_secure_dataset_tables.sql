-- Rendered from the entry 'tables' of secure_datasets_config().
select
    base.data_source_id,
    base.data_source_name,
    base.schema_id,
    base.schema_name,
    base.table_id,
    base.table_name,
    base.table_type,
    base.full_path,
    base.trust_score,
    base.quality_score,
    base.coverage_score,
    access.user_id,
    access.access_type
from secure_datasets.vw_dataset_tables as base
inner join secure_datasets.vw_secure_user_data_source_access as access
    on base.data_source_id = access.meta_data_source_id
