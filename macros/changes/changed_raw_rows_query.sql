{#
    The rows that decide access and came, went or changed between two states: live rows, by
    what of them decides.

    states  what states_compared() returns
#}
{% macro changed_raw_rows_query(states) -%}
{%- set before, after, queries = states[0], states[1], [] -%}
{%- set tables = secure_datasets.repository_tables() -%}
{%- for name in adapter.access_changes().deciding_tables(states, tables) -%}
{%- set table = tables[name] -%}
{%- set columns = table.references.keys() | list + (['role_name'] if table.object_type else []) -%}
{%- set query %}
select
    '{{ name }}' as raw_table,
    coalesce(before_rows.{{ table.key }}, after_rows.{{ table.key }}) as row_id,
    case
        when before_rows.{{ table.key }} is null then 'came'
        when after_rows.{{ table.key }} is null then 'went'
        else 'changed'
    end as change
from (select * from {{ before.schema }}.stg_{{ name }} where is_live) as before_rows
full outer join (select * from {{ after.schema }}.stg_{{ name }} where is_live) as after_rows
    on before_rows.{{ table.key }} = after_rows.{{ table.key }}
where
    before_rows.{{ table.key }} is null
    or after_rows.{{ table.key }} is null
    {%- for column in columns %}
    or not (before_rows.{{ column }} <=> after_rows.{{ column }})
    {%- endfor %}
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor -%}
{{ queries | join('\nunion all\n') }}
{%- endmacro %}
