{#- The raw table user_group_members over a step `links` (loaded_at, group_key, member_key, is_group),
    which says who is in a group directly: users, or groups.

    A group may be in several groups, and `parent_user_group_id` names one, so the members of nested
    groups are made members of each group around them. Links inside a ring of groups count for
    nothing, as in the product.

    loads   the step (loaded_at, is_complete) that has one row per load, where loads are kept -#}
{% macro nested_members(loads=none) -%}
-- From a group to each group around it, until a path meets a group again.
reached as (
    select
        loaded_at,
        member_key as child_key,
        group_key as ancestor_key,
        array(group_key) as path
    from links
    where is_group

    union all

    select
        reached.loaded_at,
        reached.child_key,
        links.group_key as ancestor_key,
        array_append(reached.path, links.group_key) as path
    from reached
    inner join links
        on
            reached.loaded_at = links.loaded_at
            and reached.ancestor_key = links.member_key
    where
        links.is_group
        and not array_contains(reached.path, links.group_key)
),

outside_rings as (
    select links.*
    from links
    left anti join reached
        on
            links.loaded_at = reached.loaded_at
            and links.group_key = reached.child_key
            and links.member_key = reached.ancestor_key
    where links.is_group
),

ancestors as (
    select
        loaded_at,
        member_key as group_key,
        group_key as ancestor_key
    from outside_rings

    union all

    select
        ancestors.loaded_at,
        ancestors.group_key,
        outside_rings.group_key as ancestor_key
    from ancestors
    inner join outside_rings
        on
            ancestors.loaded_at = outside_rings.loaded_at
            and ancestors.ancestor_key = outside_rings.member_key
),

-- A user may be in a group directly and by several nested groups.
members as (
    select
        loaded_at,
        group_key,
        member_key as user_key
    from links
    where not is_group

    union

    select
        links.loaded_at,
        ancestors.ancestor_key as group_key,
        links.member_key as user_key
    from links
    inner join ancestors
        on
            links.loaded_at = ancestors.loaded_at
            and links.group_key = ancestors.group_key
    where not links.is_group
),

with_ids as (
    select
        members.loaded_at,
        user_groups.id as user_group_id,
        users.id as user_id,
        concat(user_groups.id, '/', users.id) as directory_key,
        true as is_active
    from members
    inner join {{ ref('users') }} as users
        on
            members.loaded_at = users.loaded_at
            and members.user_key = users.directory_key
    inner join {{ ref('user_groups') }} as user_groups
        on
            members.loaded_at = user_groups.loaded_at
            and members.group_key = user_groups.directory_key
    {%- if loads %}

    union all

    -- So that a load in which nobody is a member of anything is a load too.
    select
        loaded_at,
        0 as user_group_id,
        0 as user_id,
        'load' as directory_key,
        false as is_active
    from {{ loads }}
    {%- endif %}
),

final as (
    select
        {{ directory_id('directory_key') }} as id,
        user_group_id,
        user_id,
        with_ids.is_active,
        cast(null as timestamp) as date_created,
        cast(null as timestamp) as date_modified,
        cast(null as string) as created_by,
        cast(null as string) as modified_by,
        with_ids.loaded_at
        {%- if loads %},
        {{ loads }}.is_complete
        {%- endif %}
    from with_ids
    {%- if loads %}
    inner join {{ loads }} on with_ids.loaded_at = {{ loads }}.loaded_at
    {%- endif %}
)

select * from final
{%- endmacro %}
