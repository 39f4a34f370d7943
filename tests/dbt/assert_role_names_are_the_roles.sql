-- Policies read each user's roles in one place; these are the roles that the user holds.
with held as (

    select
        user_id,
        role_name,
        cast(null as bigint) as user_group_id
    from {{ ref('vw_secure_user_roles') }}
    where role_name is not null
    union
    select
        user_id,
        cast(null as string) as role_name,
        user_group_id
    from {{ ref('vw_secure_user_roles') }}
    where user_group_id is not null

),

names as (

    select
        user_id,
        explode(role_names) as role_name,
        cast(null as bigint) as user_group_id
    from {{ ref('user_role_names') }}
    union all
    select
        user_id,
        cast(null as string) as role_name,
        explode(user_group_ids) as user_group_id
    from {{ ref('user_role_names') }}

)

select
    *,
    'not among the names' as problem
from (select * from held except select * from names)
union all
select
    *,
    'not held' as problem
from (select * from names except select * from held)
