-- Who holds a global admin role?
-- The audit names the role on each object that it reaches, hence the `distinct`; where
-- there is no object, it names nobody.
select distinct
    user_id,
    concat_ws(' ', user_first_name, user_last_name) as user_name,
    permission_name
from {{ ref('vw_dataset_effective_user_permissions') }}
where permission_name in ('Global Admin', 'Global Data Source Admin')
order by user_id, permission_name
