-- Rendered from the entry 'event_history' of secure_datasets_config().
select
    base.event_id,
    base.context,
    base.category,
    base.object_type,
    base.event_name,
    base.project_id,
    base.data_source_id,
    base.actor_user_id,
    base.event_date,
    access.user_id,
    access.access_type
from secure_datasets.vw_dataset_event_history as base
inner join secure_datasets.vw_secure_user_project_access as access
    on base.project_id = access.project_id
where base.context = 'Project'
union all
select
    base.event_id,
    base.context,
    base.category,
    base.object_type,
    base.event_name,
    base.project_id,
    base.data_source_id,
    base.actor_user_id,
    base.event_date,
    access.user_id,
    access.access_type
from secure_datasets.vw_dataset_event_history as base
inner join secure_datasets.vw_secure_user_data_source_access as access
    on base.data_source_id = access.meta_data_source_id
where base.context = 'Data Source'
union all
select
    base.event_id,
    base.context,
    base.category,
    base.object_type,
    base.event_name,
    base.project_id,
    base.data_source_id,
    base.actor_user_id,
    base.event_date,
    cast(null as bigint) as user_id,
    cast(null as string) as access_type
from secure_datasets.vw_dataset_event_history as base
where base.context = 'Global'
