{#
    Who has gained, lost or come in another way to what, between two states, by which paths,
    and what made it.

    Each path to a part of a tier stands on raw rows. A part has come or gone by raw rows if each
    path to it, in the state that has it, stands on one that came, went or changed; else the same
    rows give something else by another definition.

    states  what states_compared() returns
#}
{% macro access_changes_query(states) -%}
{%- set changes = adapter.access_changes() -%}
{%- set all_keys, asked = changes.all_keys(states), ['tier', 'user_id', 'object_keys'] -%}
with changed as (

    select * from {{ ref('changed_access') }}

),

changed_rows as (

    select * from {{ ref('changed_raw_rows') }}

),
{% for state in states %}
{%- set rings = changes.rings(secure_datasets._ring_links(states[1 - loop.index0])) %}
paths_{{ state.side }} as (

    select * from {{ ref('changed_paths') }}
    where side = {{ secure_datasets.sql_text(state.side) }}

),

groups_{{ state.side }} as (

    select
        paths.*,
        explode(paths.group_ids) as group_id
    from paths_{{ state.side }} as paths
    where paths.group_ids is not null

),

rings_{{ state.side }} (group_id, member_id) as (
    -- What was in a ring with a group in the other state, where the link was ignored.
    {{ secure_datasets.values_query(rings, 2) | indent(4) }}
),

evidence_{{ state.side }} as (
    {{ secure_datasets._evidence_of_changes(state, all_keys) | indent(4) }}
),

found_{{ state.side }} as (

    select
        evidence.tier,
        evidence.user_id,
        evidence.object_keys,
        evidence.part,
        evidence.path_key,
        concat(evidence.raw_table, ' ', evidence.row_id, ' ', changed_rows.change) as cause,
        changed_rows.how
    from evidence_{{ state.side }} as evidence
    inner join changed_rows
        on
            evidence.raw_table = changed_rows.raw_table
            and evidence.row_id = changed_rows.row_id
            and (evidence.is_whole or changed_rows.change != 'changed')

),

parts_{{ state.side }} as (

    select
        paths.tier,
        paths.user_id,
        paths.object_keys,
        paths.part,
        count(distinct paths.path_key) = count(distinct found.path_key) as is_explained
    from paths_{{ state.side }} as paths
    left join found_{{ state.side }} as found
        on {{ secure_datasets._is_same('paths', 'found', asked + ['part', 'path_key']) }}
    group by paths.tier, paths.user_id, paths.object_keys, paths.part

),

listed_{{ state.side }} as (

    select
        tier,
        user_id,
        object_keys,
        array_sort(
            collect_set(
                named_struct(
                    'permission_name', permission_name,
                    'path_kind', path_kind,
                    'grant_table', grant_table,
                    'grant_id', grant_id,
                    'role_name', role_name,
                    'group_chain', group_chain
                )
            )
        ) as paths
    from paths_{{ state.side }}
    where path_kind is not null
    group by tier, user_id, object_keys

),
{% endfor %}
causes as (

    select
        tier,
        user_id,
        object_keys,
        array_sort(collect_set(named_struct('cause', cause, 'how', how))) as causes
    from (
        {%- for state in states %}
        select
            found.tier,
            found.user_id,
            found.object_keys,
            found.cause,
            found.how
        from found_{{ state.side }} as found
        inner join parts_{{ state.side }} as parts
            on {{ secure_datasets._is_same('found', 'parts', asked + ['part']) }}
        inner join changed
            on {{ secure_datasets._is_same('found', 'changed', asked) }}
        where parts.is_explained or (changed.is_before and changed.is_after)
        {{ 'union all' if not loop.last }}
        {%- endfor %}
    ) as found
    group by tier, user_id, object_keys

)

select
    changed.tier,
    changed.user_id,
    {%- for key in ['project_id', 'meta_data_source_id'] %}
    {{ 'changed.' ~ key if key in all_keys else 'cast(null as bigint)' }} as {{ key }},
    {%- endfor %}
    changed.object_keys,
    case
        when not changed.is_before then 'gained'
        when not changed.is_after then 'lost'
        else 'other access_type'
    end as change,
    changed.access_type_before,
    changed.access_type_after,
    listed_before.paths as paths_before,
    listed_after.paths as paths_after,
    coalesce(transform(causes.causes, each -> each.cause), array('definition')) as causes,
    coalesce(transform(causes.causes, each -> each.how), array(cast(null as string))) as how
from changed
{%- for relation in ['listed_before', 'listed_after', 'causes'] %}
left join {{ relation }}
    on {{ secure_datasets._is_same('changed', relation, asked) }}
{%- endfor %}
{%- endmacro %}


{#
    The raw rows that each path stands on. Of the user, the objects and the group that holds
    the grant nothing counts but that they are there; of the others all that decides.
#}
{% macro _evidence_of_changes(state, all_keys) -%}
{%- set tables, rows = secure_datasets.repository_tables(), [] -%}
{%- do rows.append(["'users'", 'user_id', 'false', 'paths_' ~ state.side]) -%}
{%- for table in tables.values() if table.key in all_keys -%}
    {%- do rows.append(["'" ~ table.name ~ "'", table.key, 'false', 'paths_' ~ state.side]) -%}
{%- endfor -%}
{%- do rows.append(['grant_table', 'grant_id', 'true', 'paths_' ~ state.side]) -%}
{%- do rows.append(["'user_group_members'", 'user_group_member_id', 'true', 'paths_' ~ state.side]) -%}
{%- do rows.append(["'user_groups'", 'group_id', 'group_id != user_group_id', 'groups_' ~ state.side]) -%}
{%- for table, key, is_whole, relation in rows %}
select
    tier,
    user_id,
    object_keys,
    part,
    path_key,
    {{ table }} as raw_table,
    {{ key }} as row_id,
    {{ is_whole }} as is_whole
from {{ relation }}
where {{ key }} is not null
union all
{%- endfor %}
select
    chains.tier,
    chains.user_id,
    chains.object_keys,
    chains.part,
    chains.path_key,
    'user_groups' as raw_table,
    cast(rings.member_id as bigint) as row_id,
    true as is_whole
from groups_{{ state.side }} as chains
inner join rings_{{ state.side }} as rings
    on chains.group_id = cast(rings.group_id as bigint)
{%- endmacro %}


{# The groups of a state that are in a ring, with their parents: those whose link is ignored. #}
{% macro _ring_links(state) -%}
{{ return(secure_datasets.rows_of(
    'select user_groups.user_group_id, user_groups.parent_user_group_id from ' ~ state.schema ~ '.stg_user_groups as user_groups'
    ~ ' inner join ' ~ state.schema ~ '.stg_user_groups as parents on user_groups.parent_user_group_id = parents.user_group_id and parents.is_live'
    ~ ' left anti join (select user_group_id from ' ~ state.schema ~ '.int_user_group_ancestors where depth = 1) as in_force'
    ~ ' on user_groups.user_group_id = in_force.user_group_id where user_groups.is_live'
)) }}
{%- endmacro %}
