{{ config(cluster_by=['user_id'], statistics=['user_id']) }}

select
    user_id,
    array_sort(collect_set(role_name)) as role_names
from {{ ref('vw_secure_user_roles') }}
where role_name is not null
group by user_id
