{#
    Every path to each part of the access that has changed, in the states that have it. A tier
    asks for parts: rights on its objects, and rows that link them.

    states  what states_compared() returns
#}
{% macro changed_paths_query(states) -%}
{%- set all_keys = adapter.access_changes().all_keys(states) -%}
{%- set right = ['user_id', 'object_type', 'object_id', 'permission_name'] -%}
with changed as (

    select * from {{ ref('changed_access') }}

)
{%- for state in states %},

{# All rights at once: the paths of a state are many, and are read once. -#}
asked_{{ state.side }} as (
    {{ secure_datasets._asked_rights(state, all_keys) | indent(4) }}
),

rights_{{ state.side }} as (

    select paths.*
    from {{ state.schema }}.explained_access_paths as paths
    -- Before the chains of groups are looked up.
    left semi join asked_{{ state.side }} as asked
        on {{ secure_datasets._is_same('paths', 'asked', right) }}

),

paths_{{ state.side }} as (

    select
        {{ secure_datasets._path_of_change('asked', all_keys) | indent(4) }},
        asked.part,
        concat_ws(' ', paths.path_kind, paths.grant_table, paths.grant_id, paths.user_group_member_id) as path_key,
        {{ secure_datasets.path_columns('paths') | indent(4) }},
        paths.group_ids
    from asked_{{ state.side }} as asked
    inner join rights_{{ state.side }} as paths
        on {{ secure_datasets._is_same('asked', 'paths', right) }}
    {{- secure_datasets._paths_of_no_right(state, all_keys) | indent(4) }}

)
{%- endfor %}
{% for state in states %}
select
    {{ secure_datasets.sql_text(state.side) }} as side,
    paths.*
from paths_{{ state.side }} as paths
{{ 'union all' if not loop.last }}
{%- endfor %}
{%- endmacro %}


{# The rights that the changed access of a state asks for, each as a part of its tier. #}
{% macro _asked_rights(state, all_keys) -%}
{%- set queries = [] -%}
{%- for name, tier in state.tiers.items() -%}
    {%- for right in tier.rights if right.key in tier['keys'] -%}
        {%- set query %}
select
    {{ secure_datasets._path_of_change('changed', all_keys) }},
    {{ secure_datasets.sql_text(right.permission ~ ' by ' ~ right.key) }} as part,
    {{ secure_datasets.sql_text(right.object_type) }} as object_type,
    changed.{{ right.key }} as object_id,
    {{ secure_datasets.sql_text(right.permission) }} as permission_name
from changed
where changed.is_{{ state.side }} and changed.tier = {{ secure_datasets.sql_text(name) }}
        {%- endset -%}
        {%- do queries.append(query) -%}
    {%- endfor -%}
{%- endfor -%}
{%- if not queries -%}
    {%- set query %}
select
    {{ secure_datasets._path_of_change('changed', all_keys) }},
    cast(null as string) as part,
    cast(null as string) as object_type,
    cast(null as bigint) as object_id,
    cast(null as string) as permission_name
from changed
where false
    {%- endset -%}
    {%- do queries.append(query) -%}
{%- endif -%}
{{ queries | join('\nunion all\n') }}
{%- endmacro %}


{# What every path says of the row that it is behind. #}
{% macro _path_of_change(changed, all_keys) -%}
{{ changed }}.tier,
    {{ changed }}.user_id,
    {{ changed }}.object_keys
    {%- for key in all_keys %},
    {{ changed }}.{{ key }}
    {%- endfor %}
{%- endmacro %}


{# What follows the paths to rights: links, and the tiers whose entries name no right. #}
{% macro _paths_of_no_right(state, all_keys) -%}
{%- for name, tier in state.tiers.items() -%}
    {%- for link in tier.links %}
union all
{{ secure_datasets._paths_by_link(state, name, tier, link, all_keys) }}
    {%- endfor -%}
    {%- if not tier.rights and not tier.links %}
union all
{{ secure_datasets._no_path(state, name, all_keys) }}
    {%- endif -%}
{%- endfor -%}
{%- endmacro %}


{# The rows that link the tier's objects. #}
{% macro _paths_by_link(state, name, tier, link, all_keys) -%}
select
    {{ secure_datasets._path_of_change('changed', all_keys) }},
    {{ secure_datasets.sql_text('link by ' ~ link.table) }} as part,
    cast(links.{{ link.key }} as string) as path_key,
    {{ secure_datasets.path_columns(values={'path_kind': "'Link'", 'grant_table': "'" ~ link.table ~ "'", 'grant_id': 'links.' ~ link.key}) }},
    cast(null as array<bigint>) as group_ids
from changed
inner join {{ state.schema }}.stg_{{ link.table }} as links
    on
        links.is_live
        {%- for key in tier['keys'] %}
        and changed.{{ key }} = links.{{ key }}
        {%- endfor %}
where changed.is_{{ state.side }} and changed.tier = {{ secure_datasets.sql_text(name) }}
{%- endmacro %}


{# A tier whose entry names no right says nothing of paths. #}
{% macro _no_path(state, name, all_keys) -%}
select
    {{ secure_datasets._path_of_change('changed', all_keys) }},
    {{ secure_datasets.sql_text('the access view') }} as part,
    'none' as path_key,
    {{ secure_datasets.path_columns() }},
    cast(null as array<bigint>) as group_ids
from changed
where changed.is_{{ state.side }} and changed.tier = {{ secure_datasets.sql_text(name) }}
{%- endmacro %}


{# Whether two relations have the same in some columns. #}
{% macro _is_same(one, other, columns) -%}
{%- for column in columns -%}
{{ ' and ' if not loop.first }}{{ one }}.{{ column }} = {{ other }}.{{ column }}
{%- endfor -%}
{%- endmacro %}
