{#
    The raw rows by which the bases of secure datasets have other rows, for each user who gains or
    loses one of these.

    states  what states_compared() returns
#}
{% macro changed_base_rows_query(states) -%}
{%- set changes = adapter.access_changes() -%}
{%- for pair in changes.pairs(states, 'datasets') if pair.has_bases %}
{%- set table = secure_datasets.referenced_table(pair.after.base, pair.after['keys'][0], {}) if pair.after['keys'] | length == 1 %}
{{ secure_datasets._rows_of_changed_base(pair, changes.raw_rows_of(table, states, secure_datasets.repository_tables())) }}
union
{%- endfor %}
{{ secure_datasets._no_changed_base() }}
{%- endmacro %}


{#
    The raw rows by which a dataset's base has other rows, for each user who gains or loses one
    of these. A row of the base comes and goes with its own raw row or with one that it stands
    below, and is another one, in what decides who sees it, if any of them is. Where none of them
    moved, or none is known, the row of the base is named itself.

    levels  what raw_rows_of() returns: the raw tables of a row of the base, its own first
#}
{% macro _rows_of_changed_base(pair, levels) -%}
{%- set keys = pair.after['keys'] -%}
{%- for one, other, change in [[pair.after, pair.before, 'came'], [pair.before, pair.after, 'went']] %}
select
    {{ secure_datasets.sql_text(pair.name) }} as dataset,
    seen.user_id,
    explode(
        case
            when size(moved.raw_rows) > 0 then moved.raw_rows
            else array(concat({{ secure_datasets.sql_text(one.base ~ ' ') }}, moved.row_key, ' ', moved.change))
        end
    ) as cause
from {{ one.schema }}.{{ one.relation }} as seen
inner join (
    {{ secure_datasets._changed_base(pair, levels, one, other, change) | indent(4) }}
) as moved
    on {{ secure_datasets._is_same_row('seen', 'moved', keys) }}
left join (select *, true as is_seen from {{ other.schema }}.{{ other.relation }}) as seen_there
    on seen.user_id <=> seen_there.user_id and {{ secure_datasets._is_same_row('seen', 'seen_there', keys) }}
where seen_there.is_seen is null
{{ 'union' if change == 'came' }}
{%- endfor %}
{%- endmacro %}


{#
    The rows of one state's base that the other's has not, or has otherwise in a column that
    decides who sees them, each with its raw rows.
#}
{% macro _changed_base(pair, levels, one, other, change) -%}
{%- set keys = pair.after['keys'] -%}
select distinct
    {%- for key in keys %}
    base.{{ key }},
    {%- endfor %}
    concat_ws('/'{% for key in keys %}, coalesce(cast(base.{{ key }} as string), 'null'){% endfor %}) as row_key,
    case when others.is_there then 'changed' else '{{ change }}' end as change,
    filter(
        array(
            cast(null as string)
            {%- for level in levels %}
            {%- set here, there = 'here_' ~ loop.index0, 'there_' ~ loop.index0 %},
            case
                when {{ here }}.{{ level.key }} is null then null
                -- What is switched off is there, too: rows may stand below it.
                when {{ there }}.{{ level.key }} is null or {{ here }}.is_live and not {{ there }}.is_live
                    then concat('{{ level.table }} ', cast({{ here }}.{{ level.key }} as string), ' {{ change }}')
                when
                    {%- if level.parent %}
                    not ({{ here }}.{{ level.parent }} <=> {{ there }}.{{ level.parent }}) or
                    {%- endif %}
                    others.is_there and not ({{ secure_datasets._is_same_row(here, there, level.columns) }})
                    then concat(
                        '{{ level.table }} ', cast({{ here }}.{{ level.key }} as string),
                        case when {{ here }}.is_live = {{ there }}.is_live then ' changed' else ' {{ {'came': 'went', 'went': 'came'}[change] }}' end
                    )
            end
            {%- if change == 'went' and not loop.first %}
            {%- set was, now = 'was_' ~ loop.index0, 'now_' ~ loop.index0 %},
            -- Had what the row stands below now not gone or moved, the row might still be seen.
            case
                when {{ was }}.is_live and ({{ now }}.{{ level.key }} is null or not {{ now }}.is_live)
                    then concat('{{ level.table }} ', cast({{ was }}.{{ level.key }} as string), ' went')
                {%- if level.parent %}
                when {{ was }}.is_live and not ({{ was }}.{{ level.parent }} <=> {{ now }}.{{ level.parent }})
                    then concat('{{ level.table }} ', cast({{ was }}.{{ level.key }} as string), ' changed')
                {%- endif %}
            end
            {%- endif %}
            {%- endfor %}
        ),
        raw_row -> raw_row is not null
    ) as raw_rows
from {{ one.schema }}.{{ one.base }} as base
left join (select *, true as is_there from {{ other.schema }}.{{ other.base }}) as others
    on {{ secure_datasets._is_same_row('base', 'others', keys) }}
{%- for level in levels %}
{%- set number = loop.index0 %}
{%- set ways = [['base.' ~ keys[0] if loop.first else 'here_' ~ (number - 1) ~ '.' ~ loop.previtem.parent, 'here_', 'there_']] %}
{%- if change == 'went' and not loop.first %}
{%- do ways.append([('there_0.' if number == 1 else 'now_' ~ (number - 1) ~ '.') ~ loop.previtem.parent, 'was_', 'now_']) %}
{%- endif %}
{%- for found, of_one, of_other in ways %}
{%- for side, name in [[one, of_one ~ number], [other, of_other ~ number]] %}
left join (select * from {{ side.schema }}.stg_{{ level.table }} where rejection_reason is null) as {{ name }}
    on {{ found }} = {{ name }}.{{ level.key }}
{%- endfor %}
{%- endfor %}
{%- endfor %}
where others.is_there is null or not ({{ secure_datasets._is_same_row('base', 'others', pair.deciding) }})
{%- endmacro %}


{# No row: where no base is in both. #}
{% macro _no_changed_base() -%}
select
    cast(null as string) as dataset,
    cast(null as bigint) as user_id,
    cast(null as string) as cause
where false
{%- endmacro %}


{# Whether two relations say the same in some columns, nulls among them. #}
{% macro _is_same_row(one, other, columns) -%}
{%- for column in columns -%}
{{ ' and ' if not loop.first }}{{ one }}.{{ column }} <=> {{ other }}.{{ column }}
{%- else -%}
true
{%- endfor -%}
{%- endmacro %}
