{# What the data tests about the roles of policies share: each gives role, resource and reason. #}

{# The roles that policies name, as pairs of role and resource; of masks by role only, if asked. #}
{% macro roles_of_policies(config, of_masks_by_role=false) %}
    {%- set pairs = [] -%}
    {%- for policy in config.policies or [] if not of_masks_by_role or ('mask' in policy and 'role' in policy) -%}
        {%- for role in secure_datasets.roles_named_by(policy) -%}
            {%- do pairs.append([role, policy.resource]) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(pairs) }}
{% endmacro %}


{# Pairs of role and resource as rows. #}
{% macro roles_as_rows(pairs) -%}
values
    {%- for role, resource in pairs %}
    ({{ secure_datasets.sql_text(role) }}, {{ secure_datasets.sql_text(resource) }}){{ ',' if not loop.last }}
    {%- endfor -%}
{%- endmacro %}


{#
    The roles that no live group bears, and that are no global ones: of those that may be
    missing, or of the others.

    may_be_missing  the names that may be missing
    are_listed      whether to look at these
#}
{% macro roles_without_a_group(config, may_be_missing, are_listed) -%}
{%- set pairs, listed = [], [] -%}
{%- for role in may_be_missing -%}
    {%- do listed.append(secure_datasets.trimmed_role(role)) -%}
{%- endfor -%}
{%- for role, resource in secure_datasets.roles_of_policies(config) if (role in listed) == are_listed -%}
    {%- do pairs.append([role, resource]) -%}
{%- endfor -%}
{%- if not pairs -%}
{{ secure_datasets.union_of([]) }}
{%- else -%}
with named (role_name, resource) as (
    {{ secure_datasets.roles_as_rows(pairs) | indent(4) }}
),

rejected as (

    select
        {{ secure_datasets.delivered_value('name') }} as role_name,
        min(concat(
            'no live group bears it, and the row of user_groups that does, ', raw_id,
            ', is rejected: ', rejection_reason
        )) as reason
    from {{ ref('stg_user_groups') }}
    where rejection_reason is not null
    group by 1

)

select distinct
    named.role_name,
    named.resource,
    coalesce(rejected.reason, 'no live group bears it') as reason
from named
left anti join {{ ref('stg_user_groups') }} as user_groups
    on named.role_name = user_groups.name and user_groups.is_live
left join rejected
    on named.role_name = rejected.role_name
where named.role_name not in ('Global Admin', 'Global Data Source Admin')
{%- endif -%}
{%- endmacro %}


{# A value of a rejected row as it was delivered, trimmed. #}
{% macro delivered_value(column) -%}
{{ secure_datasets.trimmed_text("get_json_object(raw_row, '$." ~ column ~ "')") }}
{%- endmacro %}


{#
    The masks that say `role`, and might miss somebody who should hold it: whatever can't be
    used of groups, memberships and global roles, and could lead to the role, takes the mask
    off. What is known not to lead there, or was never a grant, is left out.
#}
{% macro masks_in_doubt(config, may_be_missing) -%}
{%- set pairs, listed = secure_datasets.roles_of_policies(config, of_masks_by_role=true), [] -%}
{%- for role in may_be_missing -%}
    {%- do listed.append(secure_datasets.trimmed_role(role)) -%}
{%- endfor -%}
{%- if not pairs -%}
{{ secure_datasets.union_of([]) }}
{%- else -%}
with named (role_name, resource) as (
    {{ secure_datasets.roles_as_rows(pairs) | indent(4) }}
),

-- Groups whose row can be used, live or not: what their links say is known.
known_groups as (

    select
        user_group_id,
        name,
        parent_user_group_id,
        is_live
    from {{ ref('stg_user_groups') }}
    where rejection_reason is null

),

-- The groups that bear a role, and those below them.
ways as (

    select distinct
        named.role_name,
        ancestors.user_group_id
    from named
    inner join known_groups as bearers
        on named.role_name = bearers.name and bearers.is_live
    inner join {{ ref('int_user_group_ancestors') }} as ancestors
        on bearers.user_group_id = ancestors.ancestor_user_group_id

),

rejected_groups as (

    select
        concat('row ', raw_id, ' of user_groups is rejected: ', rejection_reason) as reason,
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

),

-- Members and groups of a group of which no row was ever delivered.
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

),

-- What could lead to some role: by a link to a group, as text.
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

),

findings as (

    select
        named.*,
        rejected_groups.reason
    from named
    inner join rejected_groups
        on named.role_name = rejected_groups.name or rejected_groups.could_say_anything
    where not (rejected_groups.could_say_anything and named.role_name in ('Global Admin', 'Global Data Source Admin'))
    union all
    select
        named.*,
        read_links.reason
    from named
    cross join read_links
    left join known_groups
        on read_links.group_id = known_groups.user_group_id
    left join ways
        on named.role_name = ways.role_name and read_links.group_id = ways.user_group_id
    where
        (known_groups.user_group_id is null or ways.user_group_id is not null)
        and named.role_name not in ('Global Admin', 'Global Data Source Admin')
    union all
    select
        named.*,
        concat('group ', rings.user_group_id, ' is in a ring, whose other groups do not hold it')
            as reason
    from named
    inner join known_groups as rings
        on named.role_name = rings.name and rings.is_live
    inner join known_groups as parents
        on rings.parent_user_group_id = parents.user_group_id and parents.is_live
    left anti join {{ ref('int_user_group_ancestors') }} as ancestors
        on
            rings.user_group_id = ancestors.user_group_id
            and rings.parent_user_group_id = ancestors.ancestor_user_group_id
    union all
    select
        named.*,
        concat('row ', rejected.raw_id, ' of user_global_roles is rejected: ', rejected.rejection_reason)
            as reason
    from named
    inner join {{ ref('role_permissions') }} as global_roles
        on
            named.role_name = global_roles.permission_name
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
    union all
    select
        named.*,
        'nobody holds it' as reason
    from named
    left anti join {{ ref('vw_secure_user_roles') }} as held
        on named.role_name = held.role_name
    {%- if listed %}
    where named.role_name not in ({% for role in listed %}{{ secure_datasets.sql_text(role) }}{{ ', ' if not loop.last }}{% endfor %})
    {%- endif %}

)

select distinct
    role_name,
    resource,
    reason
from findings
{%- endif -%}
{%- endmacro %}


{#
    Whether a rejected row might have been a grant: one that says that it is not active was
    none. Of rows in conflict one is kept, and the others may say anything.
#}
{% macro is_no_revocation() -%}
rejection_reason = 'conflict' or coalesce({{ secure_datasets.ascii_lower(secure_datasets.delivered_value('is_active')) }}, 'true') not in ('false', '0')
{%- endmacro %}
