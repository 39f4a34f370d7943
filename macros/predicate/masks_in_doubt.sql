{#
    The masks by `role` that might miss a user with the role: an unusable row of groups,
    memberships or global roles that could lead to the role takes the mask off. Rows that
    certainly don't lead there, or were never a grant, are left out.
#}
{% macro masks_in_doubt(config, may_be_missing) -%}
{%- set pairs = secure_datasets.roles_of_policies(config, of_masks_by_role=true) -%}
{%- if not pairs -%}
{{ secure_datasets.union_of([]) }}
{%- else -%}
with named (role_name, group_id, resource) as (
    {{ secure_datasets.roles_as_rows(pairs) | indent(4) }}
),

{{ secure_datasets._groups_with_roles() }},

{{ secure_datasets._rejected_groups_and_members() }},

{{ secure_datasets._live_links() }},

{{ secure_datasets._unusable_links() }},

findings as (

    {{ secure_datasets._doubts_by_rejected_groups() | indent(4) }}
    union all
    {{ secure_datasets._doubts_by_links() | indent(4) }}
    union all
    {{ secure_datasets._doubts_by_rings() | indent(4) }}
    union all
    {{ secure_datasets._doubts_by_global_roles() | indent(4) }}
    union all
    {{ secure_datasets._roles_that_nobody_holds(may_be_missing) | indent(4) }}

)

select distinct
    role_name,
    resource,
    reason
from findings
{%- endif -%}
{%- endmacro %}


{# The usable groups, and for each role the groups that bear it or are below such a group. #}
{% macro _groups_with_roles() -%}
-- Usable rows, live or not: their links are known.
known_groups as (

    select
        user_group_id,
        name,
        parent_user_group_id,
        is_live
    from {{ ref('stg_user_groups') }}
    where rejection_reason is null

),

-- The live groups that bear a role, and the groups below: others are no ancestors.
ways as (

    select distinct
        named.role_name,
        named.group_id,
        ancestors.user_group_id
    from named
    inner join known_groups as bearers
        on {{ secure_datasets._bears_role('bearers') }}
    inner join {{ ref('int_user_group_ancestors') }} as ancestors
        on bearers.user_group_id = ancestors.ancestor_user_group_id

)
{%- endmacro %}


{# The rejected rows of groups and memberships that might have been grants, each with the group that it names, as text. #}
{% macro _rejected_groups_and_members() -%}
rejected_groups as (

    select
        concat('row ', raw_id, ' of user_groups is rejected: ', rejection_reason) as reason,
        raw_id,
        {{ secure_datasets.delivered_value('name') }} as name,
        {{ secure_datasets.delivered_value('parent_user_group_id') }} as link,
        rejection_reason = 'conflict' as could_say_anything
    from {{ ref('stg_user_groups') }}
    where rejection_reason is not null and ({{ secure_datasets.is_no_revocation() }})

),

rejected_members as (

    select
        concat('row ', raw_id, ' of user_group_members is rejected: ', rejection_reason)
            as reason,
        case
            when rejection_reason = 'conflict' then ''
            else coalesce({{ secure_datasets.delivered_value('user_group_id') }}, '')
        end as link
    from {{ ref('stg_user_group_members') }}
    where rejection_reason is not null and ({{ secure_datasets.is_no_revocation() }})

)
{%- endmacro %}


{# The live groups and memberships, each with the group that it names. #}
{% macro _live_links() -%}
dangling as (

    select
        'user_groups' as table_name,
        user_group_id as row_id,
        parent_user_group_id as group_id
    from known_groups
    where is_live
    union all
    select
        'user_group_members' as table_name,
        user_group_member_id as row_id,
        user_group_id as group_id
    from {{ ref('stg_user_group_members') }}
    where is_live

)
{%- endmacro %}


{# The links whose row is rejected or whose group has no row. #}
{% macro _unusable_links() -%}
-- A link to a group, as text, could lead to a role.
links as (

    select
        reason,
        link
    from rejected_groups
    where link is not null
    union all
    select
        reason,
        link
    from rejected_members
    union all
    select
        concat('row ', dangling.row_id, ' of ', dangling.table_name, ' names a group that is not there')
            as reason,
        cast(dangling.group_id as string) as link
    from dangling
    left anti join {{ ref('stg_user_groups') }} as user_groups
        on dangling.group_id = user_groups.user_group_id
    where dangling.group_id is not null

),

read_links as (

    select
        reason,
        {{ secure_datasets.read_value('link', 'bigint') }} as group_id
    from links

)
{%- endmacro %}


{# Roles that a rejected group could bear. #}
{% macro _doubts_by_rejected_groups() -%}
select
    named.*,
    rejected_groups.reason
from named
inner join rejected_groups
    on {{ secure_datasets._bore_role('rejected_groups') }} or rejected_groups.could_say_anything
where not (rejected_groups.could_say_anything and {{ secure_datasets._is_global_role() }})
{%- endmacro %}


{# Roles to which an unusable link could lead, since its group is unknown or below a group with the role. #}
{% macro _doubts_by_links() -%}
select
    named.*,
    read_links.reason
from named
cross join read_links
left join known_groups
    on read_links.group_id = known_groups.user_group_id
left join ways
    on
        named.role_name = ways.role_name
        and named.group_id <=> ways.group_id
        and read_links.group_id = ways.user_group_id
where
    (known_groups.user_group_id is null or ways.user_group_id is not null)
    and not {{ secure_datasets._is_global_role() }}
{%- endmacro %}


{# Roles of groups in a ring: the other groups of the ring do not hold them. #}
{% macro _doubts_by_rings() -%}
select
    named.*,
    concat('group ', rings.user_group_id, ' is in a ring, whose other groups do not hold it')
        as reason
from named
inner join known_groups as rings
    on {{ secure_datasets._bears_role('rings') }} and rings.is_live
inner join known_groups as parents
    on rings.parent_user_group_id = parents.user_group_id and parents.is_live
left anti join {{ ref('int_user_group_ancestors') }} as ancestors
    on
        rings.user_group_id = ancestors.user_group_id
        and rings.parent_user_group_id = ancestors.ancestor_user_group_id
{%- endmacro %}


{# Global roles that a rejected row of user_global_roles could give. #}
{% macro _doubts_by_global_roles() -%}
select
    named.*,
    concat('row ', rejected.raw_id, ' of user_global_roles is rejected: ', rejected.rejection_reason)
        as reason
from named
inner join {{ ref('role_permissions') }} as global_roles
    on
        named.group_id is null
        and named.role_name = global_roles.permission_name
        and global_roles.object_type = 'Global'
cross join (
    select
        raw_id,
        rejection_reason,
        {{ secure_datasets.ascii_lower(secure_datasets.delivered_value('role_name')) }} as role_name
    from {{ ref('stg_user_global_roles') }}
    where rejection_reason is not null and ({{ secure_datasets.is_no_revocation() }})
) as rejected
left join {{ ref('role_permissions') }} as known_roles
    on
        rejected.role_name = {{ secure_datasets.ascii_lower('known_roles.role_name') }}
        and known_roles.object_type = 'Global'
where
    known_roles.role_name is null
    or known_roles.role_name = global_roles.role_name
    or rejected.rejection_reason = 'conflict'
{%- endmacro %}


{# Roles that nobody holds, except the roles that may be missing. #}
{% macro _roles_that_nobody_holds(may_be_missing) -%}
{%- set listed_pairs = [] -%}
{%- for role in secure_datasets._read_roles(may_be_missing) -%}
    {%- do listed_pairs.append([role, '']) -%}
{%- endfor -%}
select
    named.*,
    'nobody holds it' as reason
from named
left anti join (
    select
        role_name,
        cast(null as bigint) as group_id
    from {{ ref('vw_secure_user_roles') }}
    union
    select
        concat('group ', user_group_id) as role_name,
        user_group_id as group_id
    from {{ ref('vw_secure_user_roles') }}
) as held
    on named.role_name = held.role_name and named.group_id <=> held.group_id
{%- if listed_pairs %}
where
    not exists (
        select 1
        from (
            {{ secure_datasets.roles_as_rows(listed_pairs) | indent(16) }}
        ) as listed (role_name, group_id, resource)
        where named.role_name = listed.role_name and named.group_id <=> listed.group_id
    )
{%- endif %}
{%- endmacro %}
