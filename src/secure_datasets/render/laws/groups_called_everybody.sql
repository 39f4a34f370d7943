select
    name as role_name,
    '*' as resource,
    concat(
        'the live group ', cast(user_group_id as string), ' bears the name by which policies mean'
        ' everybody, and its members hold no role by it: rename it'
    ) as reason
from $stg_user_groups
where is_live and name = '*'
