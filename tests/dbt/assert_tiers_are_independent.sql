-- Rights on data sources make nobody a member of a project, and membership gives no right
-- on a data source: each right comes from a row of its own kind.
{{ config(group='access_resolution') }}

select
    project_access.project_id as object_id,
    project_access.user_id,
    'member without an entry of the project' as problem
from {{ ref('vw_secure_user_project_access') }} as project_access
left anti join {{ ref('int_access_paths') }} as paths
    on
        project_access.project_id = paths.object_id
        and project_access.user_id = paths.user_id
        and paths.object_type = 'Project'
        and paths.grant_table = 'project_permissions'
union all
select
    data_source_access.meta_data_source_id as object_id,
    data_source_access.user_id,
    'data source right without a grant on the data source' as problem
from {{ ref('vw_secure_user_data_source_access') }} as data_source_access
left anti join {{ ref('int_access_paths') }} as paths
    on
        data_source_access.meta_data_source_id = paths.object_id
        and data_source_access.user_id = paths.user_id
        and paths.object_type = 'Data Source'
        and paths.grant_table in (
            'data_source_permissions', 'user_global_roles', 'meta_data_sources'
        )
union all
select
    results_access.meta_data_source_id as object_id,
    results_access.user_id,
    'results right without membership of the project' as problem
from {{ ref('vw_secure_user_results_access') }} as results_access
left anti join {{ ref('vw_secure_user_project_access') }} as project_access
    on
        results_access.project_id = project_access.project_id
        and results_access.user_id = project_access.user_id
union all
select
    results_access.meta_data_source_id as object_id,
    results_access.user_id,
    'results right without View Test Results on the data source' as problem
from {{ ref('vw_secure_user_results_access') }} as results_access
left anti join {{ ref('vw_dataset_effective_user_permissions') }} as permissions
    on
        results_access.meta_data_source_id = permissions.object_id
        and results_access.user_id = permissions.user_id
        and permissions.object_type = 'Data Source'
        and permissions.permission_name = 'View Test Results'
