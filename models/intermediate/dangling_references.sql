{%- set tables = repository_tables() -%}
{%- set queries = [] -%}
{%- for name, table in tables.items() -%}
{%- for column, parent in table.references.items() -%}
{%- set query -%}
select
    '{{ name }}' as table_name,
    '{{ column }}' as column_name,
    count(*) as rows,
    min(child.{{ table.key }}) as example_id
from {{ ref('stg_' ~ name) }} as child
{%- if column == 'parent_user_group_id' %}
-- Not in force: the parent is not live, or the group is in a ring.
left join {{ ref('int_user_group_ancestors') }} as parent
    on
        child.user_group_id = parent.user_group_id
        and child.parent_user_group_id = parent.ancestor_user_group_id
        and parent.depth = 1
where child.is_live and child.{{ column }} is not null and parent.user_group_id is null
{%- else %}
left join {{ ref('stg_' ~ parent) }} as parent
    on child.{{ column }} = parent.{{ tables[parent].key }} and parent.is_live
where
    child.is_live
    and child.{{ column }} is not null
    and parent.{{ tables[parent].key }} is null
{%- endif %}
having count(*) > 0
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
{%- endfor -%}
{{ queries | join('\nunion all\n') }}
