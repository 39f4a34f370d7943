{{ config(cluster_by=['user_id'], statistics=['user_id']) }}{{ secure_datasets.view_of_rights_in_time() }}

{#- A group of this name is no way to the global role, nor to what its policies open. #}
{%- set global_roles = "('Global Admin', 'Global Data Source Admin')" -%}
with users as (

    select user_id
    from {{ ref('stg_users') }}
    where is_live

),

user_groups as (

    select
        user_group_id,
        case when name not in {{ global_roles }} then name end as role_name
    from {{ ref('stg_user_groups') }}
    where is_live

),

memberships as (

    select
        user_id,
        user_group_id
    from {{ ref('int_user_group_memberships') }}

),

user_global_roles as (

    select
        user_id,
        role_name
    from {{ ref('stg_user_global_roles') }}
    where is_live

),

global_permissions as (

    select
        role_name,
        permission_name
    from {{ ref('role_permissions') }}
    where object_type = 'Global' and permission_name in {{ global_roles }}

),

through_groups as (

    select
        memberships.user_id,
        memberships.user_group_id,
        user_groups.role_name
    from memberships
    inner join user_groups
        on memberships.user_group_id = user_groups.user_group_id

),

-- A global role may be held by several rows.
through_global_roles as (

    select distinct
        user_global_roles.user_id,
        global_permissions.permission_name as role_name
    from user_global_roles
    inner join users
        on user_global_roles.user_id = users.user_id
    inner join global_permissions
        on user_global_roles.role_name = global_permissions.role_name

)

select
    user_id,
    user_group_id,
    role_name
from through_groups
union all
select
    user_id,
    cast(null as bigint) as user_group_id,
    role_name
from through_global_roles
