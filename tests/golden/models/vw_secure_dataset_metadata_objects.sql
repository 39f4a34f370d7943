-- Rendered from the entry 'metadata_objects' of secure_datasets_config().
select
    base.data_source_id,
    base.data_source_name,
    base.object_type,
    base.object_id,
    base.object_name,
    base.full_path,
    access.user_id,
    access.access_type
from secure_datasets.vw_dataset_metadata_objects as base
inner join secure_datasets.vw_secure_user_data_source_access as access
    on base.data_source_id = access.meta_data_source_id
