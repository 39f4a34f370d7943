{%- set tables = secure_datasets.repository_tables() -%}
{%- set parents = [] -%}
{%- set queries = [] -%}
{%- for name, table in tables.items() -%}
{%- set references = [] -%}
{%- for column, parent in table.references.items()
    if column != 'parent_user_group_id' -%}
{%- do references.append(
    "struct('" ~ column ~ "' as column_name, '" ~ parent ~ "' as parent_table, "
    ~ column ~ " as parent_id)"
) -%}
{%- do parents.append(parent) -%}
{%- endfor -%}
{%- if references -%}
{%- set query %}
    select
        '{{ name }}' as table_name,
        {{ table.key }} as row_id,
        inline(array(
            {{ references | join(',\n            ') }}
        ))
    from {{ ref('stg_' ~ name) }}
    where is_live
{%- endset -%}
{%- do queries.append(query) -%}
{%- endif -%}
{%- endfor -%}
with references_made as (
    {{ queries | join('\n    union all') }}

),

live_parents as (
    {% for parent in parents | unique %}
    select
        '{{ parent }}' as parent_table,
        {{ tables[parent].key }} as parent_id
    from {{ ref('stg_' ~ parent) }}
    where is_live
    {{ 'union all' if not loop.last }}
    {%- endfor %}

),

without_live_parent as (

    select
        references_made.table_name,
        references_made.column_name,
        references_made.row_id
    from references_made
    left anti join live_parents
        on
            references_made.parent_table = live_parents.parent_table
            and references_made.parent_id = live_parents.parent_id
    where references_made.parent_id is not null

),

-- A parent link is in force unless the parent is not live, or the group is in a ring.
parent_links_not_in_force as (

    select
        'user_groups' as table_name,
        'parent_user_group_id' as column_name,
        user_groups.user_group_id as row_id
    from {{ ref('stg_user_groups') }} as user_groups
    left anti join {{ ref('int_user_group_ancestors') }} as ancestors
        on
            user_groups.user_group_id = ancestors.user_group_id
            and user_groups.parent_user_group_id = ancestors.ancestor_user_group_id
            and ancestors.depth = 1
    where user_groups.is_live and user_groups.parent_user_group_id is not null

),

dangling as (

    select * from without_live_parent
    union all
    select * from parent_links_not_in_force

),

final as (

    select
        table_name,
        column_name,
        count(*) as rows,
        min(row_id) as example_id
    from dangling
    group by table_name, column_name

)

select * from final
