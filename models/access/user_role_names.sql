{{ config(cluster_by=['user_id'], statistics=['user_id']) }}
{{- secure_datasets.view_of_rights_in_time() }}

select
    user_id,
    array_sort(collect_set(role_name)) as role_names,
    array_sort(collect_set(user_group_id)) as user_group_ids
from {{ ref('vw_secure_user_roles') }}
group by user_id
