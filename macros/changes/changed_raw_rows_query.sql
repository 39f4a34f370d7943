{#
    The rows that decide access and came, went or changed between two states: live rows, by
    what of them decides.

    states  what states_compared() returns; of rows that are only supposed to go, no delivery tells
            how they went
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
    end as change,
    {{ 'cast(null as string)' if after.is_supposed else secure_datasets._how_it_went(after.written_on.get('stg_' ~ name)) }} as how
from (select * from {{ before.schema }}.stg_{{ name }} where is_live) as before_rows
full outer join (select * from {{ after.schema }}.stg_{{ name }} where is_live) as after_rows
    on before_rows.{{ table.key }} = after_rows.{{ table.key }}
left join (
    select
        {{ table.key }},
        bool_and(is_live) as is_live,
        bool_or(is_deleted) as is_deleted,
        max(deleted_on) as deleted_on
    from {{ after.schema }}.stg_{{ name }}
    group by {{ table.key }}
) as delivered
    on before_rows.{{ table.key }} = delivered.{{ table.key }}
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


{#
    How a row went: by a deletion, or because the newer state was not delivered it. Null where the
    row is there and no longer counts, as one that is switched off or rejected.

    since  when the newer state first read what lacks the row; none if that is not known
#}
{% macro _how_it_went(since) -%}
case
        when before_rows.is_live is null then null
        when delivered.is_live is null then '{{ 'no longer delivered' ~ (' since ' ~ since if since else '') }}'
        {{ secure_datasets._is_deleted_in('delivered') }}
    end
{%- endmacro %}


{# A branch of a case: that a staged row is deleted, and when. #}
{% macro _is_deleted_in(relation) -%}
when {{ relation }}.is_deleted then coalesce(concat('deleted on ', left(cast({{ relation }}.deleted_on as string), 19)), 'deleted')
{%- endmacro %}
