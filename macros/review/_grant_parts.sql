{#
    The rights of the tiers, in three parts: `carried`, the rights whose kinds of way a tier's
    access_type shows; `linked`, the rights that show nothing unless objects are linked, each with
    the `access_view` and `key` in its tier; `links`, the raw tables that link objects, each with
    the `access_view` and `rights` of every tier that uses the link.
#}
{% macro _judged_rights() %}
    {%- set config = secure_datasets.secure_datasets_config() -%}
    {%- set found, alone = {'carried': [], 'linked': [], 'links': {}}, [] -%}
    {%- for name, tier in config.tiers.items() if tier.right -%}
        {%- set parts = secure_datasets.tier_parts(name, config) -%}
        {%- set own = parts.rights[0] -%}
        {%- if 'access_type' in tier.carries -%}{% do found.carried.append(own) %}{%- endif -%}
        {%- if tier.object_keys | length == 1 -%}{% do alone.append((own.object_type, own.permission)) %}{%- endif -%}
    {%- endfor -%}
    {%- for name, tier in config.tiers.items() if tier.right and tier.object_keys | length > 1 -%}
        {%- set parts = secure_datasets.tier_parts(name, config) -%}
        {%- set own = parts.rights[0] -%}
        {%- if (own.object_type, own.permission) not in alone -%}
            {% do found.linked.append({'object_type': own.object_type, 'permission': own.permission, 'key': own.key, 'access_view': tier.access_view}) %}
        {%- endif -%}
        {%- for link in parts.links -%}
            {% do found.links.setdefault(link.table, []).append({'access_view': tier.access_view, 'rights': parts.rights}) %}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The condition that a path leads to one of some rights. #}
{% macro _is_right(alias, rights) -%}
({% for right in rights %}({{ alias }}.object_type = {{ secure_datasets.sql_text(right.object_type) }} and {{ alias }}.permission_name = {{ secure_datasets.sql_text(right.permission) }}){{ ' or ' if not loop.last }}{% else %}false{% endfor %})
{%- endmacro %}


{#
    Every path, and whether its right is needed. A right that shows only linked objects is needed
    if the user sees something through it. Every right of a different kind is needed, because the
    access views or the audit show it. Global roles reach every object of a type: one row a type.
#}
{% macro _judged_ways(rights) -%}
{{ secure_datasets._ways_on_objects_and_types() }},

{{ secure_datasets._shown_by_links(rights.linked) }},

judged_ways as (

    select
        ways.user_id,
        ways.object_type,
        ways.object_id,
        ways.permission_name,
        ways.path_kind,
        ways.grant_table,
        ways.grant_id,
        shown.user_id is not null or not {{ secure_datasets._is_right('ways', rights.linked) }} as is_needed
    from ways
    left join shown
        on
            ways.user_id = shown.user_id
            and ways.object_type = shown.object_type
            and ways.object_id = shown.object_id
            and ways.permission_name = shown.permission_name

)
{%- endmacro %}


{# The paths to a right on one object, and global roles as paths to a right on every object of a type. #}
{% macro _ways_on_objects_and_types() -%}
ways as (

    select
        user_id,
        object_type,
        object_id,
        permission_name,
        path_kind,
        grant_table,
        grant_id
    from {{ ref('int_access_paths') }}
    where grant_table != 'user_global_roles'

),

global_ways as (

    -- There is one row for each object that a role reaches.
    select distinct
        user_id,
        object_type,
        permission_name,
        path_kind,
        grant_table,
        grant_id
    from {{ ref('int_access_paths') }}
    where grant_table = 'user_global_roles'

)
{%- endmacro %}


{# The rights that show a user something only through linked objects, and do so. #}
{% macro _shown_by_links(linked) -%}
shown as (

    -- There is one row for each project that shows a data source.
    {% for right in linked %}
    select distinct
        user_id,
        {{ secure_datasets.sql_text(right.object_type) }} as object_type,
        {{ right.key }} as object_id,
        {{ secure_datasets.sql_text(right.permission) }} as permission_name
    from {{ ref(right.access_view) }}
    {{ 'union' if not loop.last }}
    {% else %}
    select distinct user_id, object_type, object_id, permission_name from ways where false
    {% endfor %}
)
{%- endmacro %}


{#
    Whether each grant is needed, and what a user loses without it: a right, if there is no second
    way to it, or only a kind of way in access_type.
#}
{% macro _grant_losses(rights) -%}
{{ secure_datasets._counted_ways(rights.carried) }},

{{ secure_datasets._weighed_ways() }},

global_roles as (

    -- A global role is a right by itself, so that only the same role stands in for it.
    select
        *,
        count(*) over (partition by user_id, path_kind) as number_of_rows
    from (select distinct user_id, path_kind, grant_table, grant_id from global_ways) as held

),

weighed as (

    select
        grant_table,
        grant_id,
        max(is_needed) as is_needed,
        max(takes_right) as takes_right
    from (
        select grant_table, grant_id, is_needed, takes_right
        from weighed_ways
        union all
        select grant_table, grant_id, true as is_needed, case when number_of_rows = 1 then true end as takes_right
        from global_roles
    ) as each_way
    group by grant_table, grant_id

)
{%- endmacro %}


{# Every path, and the number of ways to its right: in all, by each kind, and by global roles. #}
{% macro _counted_ways(carried) -%}
global_kinds as (

    select
        user_id,
        object_type,
        permission_name,
        count(distinct path_kind) as kinds
    from global_ways
    group by user_id, object_type, permission_name

),

counted_ways as (

    select
        judged_ways.*,
        {{ secure_datasets._is_right('judged_ways', carried) }} as is_carried,
        coalesce(global_kinds.kinds, 0) as global_kinds,
        count(*) over of_right as number_of_ways,
        count_if(path_kind = 'User') over of_right as user_ways,
        count_if(path_kind = 'Group') over of_right as group_ways
    from judged_ways
    left join global_kinds
        on
            judged_ways.user_id = global_kinds.user_id
            and judged_ways.object_type = global_kinds.object_type
            and judged_ways.permission_name = global_kinds.permission_name
    window of_right as (
        partition by judged_ways.user_id, judged_ways.object_type, judged_ways.object_id, judged_ways.permission_name
    )

)
{%- endmacro %}


{#
    Every path, and what its user loses without it: true for the right, false for a kind of way in
    access_type, null for nothing. With three kinds or more, access_type stays Multiple without one
    of them.
#}
{% macro _weighed_ways() -%}
weighed_ways as (

    select
        grant_table,
        grant_id,
        is_needed,
        case
            when not is_needed then null
            when number_of_ways = 1 and global_kinds = 0 then true
            when
                is_carried
                and global_kinds
                + case when user_ways > 0 then 1 else 0 end
                + case when group_ways > 0 then 1 else 0 end
                + case when number_of_ways > user_ways + group_ways then 1 else 0 end = 2
                and case path_kind when 'User' then user_ways when 'Group' then group_ways end = 1
                then false
        end as takes_right
    from counted_ways

)
{%- endmacro %}


{# The live rows that give rights by a role, with their holders, as one list. #}
{% macro _grants() -%}
{%- set queries = [] -%}
{%- for name, table in secure_datasets.repository_tables().items() if table.object_type -%}
{%- set objects = table.references.keys() | reject('in', ['user_id', 'user_group_id']) | list -%}
{%- set query %}
    select
        '{{ name }}' as grant_table,
        {{ table.key }} as grant_id,
        user_id,
        {{ 'user_group_id' if 'user_group_id' in table.references else 'cast(null as bigint)' }} as user_group_id,
        {{ "'" ~ table.object_type ~ "'" if objects else 'cast(null as string)' }} as object_type,
        {{ objects[0] if objects else 'cast(null as bigint)' }} as object_id,
        role_name
    from {{ ref('stg_' ~ name) }}
    where is_live
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
grants as (
    {{ queries | join('\n    union all') }}

)
{%- endmacro %}


{#
    The judged memberships: one is redundant if a second membership of the user reaches every group
    that it leads to, so that the user loses no right and no role of policies without it.
#}
{% macro _judged_members() -%}
{{ secure_datasets._groups_of_members() }},

redundant_members as (

    -- A membership counts if it is the only way to any of its groups.
    select
        user_group_member_id,
        user_id,
        ancestor_user_group_id
    from (
        select *, min(number_of_ways) over (partition by user_group_member_id) as fewest_ways
        from reached_groups
    ) as each_way
    where fewest_ways > 1

)
{%- endmacro %}


{# The live memberships, and the groups that each leads to, with the number of the user's ways to a group. #}
{% macro _groups_of_members() -%}
members as (

    select
        user_group_member_id,
        user_id,
        user_group_id
    from {{ ref('stg_user_group_members') }}
    where is_live

),

reached_groups as (

    select
        members.user_group_member_id,
        members.user_id,
        ancestors.ancestor_user_group_id,
        count(*) over (partition by members.user_id, ancestors.ancestor_user_group_id) as number_of_ways
    from members
    left semi join (select user_id from {{ ref('stg_users') }} where is_live) as users
        on members.user_id = users.user_id
    -- Only live groups pass on rights.
    inner join {{ ref('int_user_group_ancestors') }} as ancestors
        on members.user_group_id = ancestors.user_group_id

)
{%- endmacro %}
