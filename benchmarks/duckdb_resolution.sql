-- The resolution of access in one statement a table, as a person would write it for DuckDB:
-- from the staged tables to the three access tables. What the Python models do on Spark.
create temp table live_users as
select user_id from stg_users where is_live;

create temp table parent_links as
select groups.user_group_id, groups.parent_user_group_id
from stg_user_groups as groups
inner join stg_user_groups as parents
    on groups.parent_user_group_id = parents.user_group_id
where groups.is_live and parents.is_live;

create temp table rings as
with recursive above as (
    select user_group_id, parent_user_group_id as ancestor_user_group_id
    from parent_links
    union
    select above.user_group_id, parent_links.parent_user_group_id
    from above
    inner join parent_links
        on above.ancestor_user_group_id = parent_links.user_group_id
)
select user_group_id from above where user_group_id = ancestor_user_group_id;

-- The parent link of a group in a ring is ignored.
create temp table group_ancestors as
with recursive ancestors as (
    select user_group_id, user_group_id as ancestor_user_group_id
    from stg_user_groups
    where is_live
    union
    select ancestors.user_group_id, parent_links.parent_user_group_id
    from ancestors
    inner join parent_links
        on ancestors.ancestor_user_group_id = parent_links.user_group_id
    anti join rings on parent_links.user_group_id = rings.user_group_id
)
select * from ancestors;

create temp table memberships as
select distinct members.user_id, group_ancestors.ancestor_user_group_id as user_group_id
from stg_user_group_members as members
inner join live_users on members.user_id = live_users.user_id
inner join group_ancestors on members.user_group_id = group_ancestors.user_group_id
where members.is_live;

create temp table holders as
select objects.meta_data_source_id, roles.user_id, 'Global' as path_kind, roles.role_name
from stg_user_global_roles as roles
inner join live_users on roles.user_id = live_users.user_id
cross join stg_meta_data_sources as objects
where
    roles.is_live
    and objects.is_live
    and roles.role_name in ('Global.Admin', 'Global.DataSourceAdmin')
union all
select objects.meta_data_source_id, objects.owner_user_id, 'Owner', null
from stg_meta_data_sources as objects
inner join live_users on objects.owner_user_id = live_users.user_id
where objects.is_live;

create temp table data_source_paths as
with grants as (
    select
        permissions.meta_data_source_id,
        permissions.user_id,
        permissions.user_group_id,
        role_permissions.permission_name
    from stg_data_source_permissions as permissions
    inner join stg_meta_data_sources as objects
        on permissions.meta_data_source_id = objects.meta_data_source_id
    inner join role_permissions
        on
            role_permissions.object_type = 'Data Source'
            and permissions.role_name = role_permissions.role_name
    where
        permissions.is_live
        and objects.is_live
        and role_permissions.permission_name in ('View Metadata', 'View Test Results')
)
select meta_data_source_id, user_id, 1 as path_kind, permission_name
from grants
inner join live_users using (user_id)
union all
select grants.meta_data_source_id, memberships.user_id, 2, grants.permission_name
from grants
inner join memberships on grants.user_group_id = memberships.user_group_id
union all
select
    meta_data_source_id,
    user_id,
    case
        when path_kind = 'Owner' then 16 when role_name = 'Global.Admin' then 4 else 8
    end,
    unnest(['View Metadata', 'View Test Results'])
from holders;

create table data_source_access as
select meta_data_source_id, user_id, bit_or(path_kind) as path_kinds
from data_source_paths
where permission_name = 'View Metadata'
group by all
order by user_id;

create table project_access as
with grants as (
    select permissions.project_id, permissions.user_id, permissions.user_group_id
    from stg_project_permissions as permissions
    inner join stg_projects as projects
        on permissions.project_id = projects.project_id
    where permissions.is_live and projects.is_live
)
select project_id, user_id, bit_or(path_kind) as path_kinds
from (
    select project_id, user_id, 1 as path_kind
    from grants
    inner join live_users using (user_id)
    union all
    select grants.project_id, memberships.user_id, 2
    from grants
    inner join memberships on grants.user_group_id = memberships.user_group_id
)
group by all
order by user_id;

create table results_access as
select distinct links.meta_data_source_id, links.project_id, members.user_id
from project_access as members
inner join stg_project_data_sources as links
    on members.project_id = links.project_id
inner join data_source_paths as viewers
    on
        links.meta_data_source_id = viewers.meta_data_source_id
        and members.user_id = viewers.user_id
where links.is_live and viewers.permission_name = 'View Test Results'
order by members.user_id;
