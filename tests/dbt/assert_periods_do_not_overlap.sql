-- Warns of rows with two versions for one moment, of which the later counts: feeds of periods.
-- depends_on: {{ ref('rejected_rows') }}
{{ config(severity='warn') }}
{%- set periods = [] -%}
{%- for name in secure_datasets.repository_tables() if (secure_datasets.feed_of(name) or {}).kind == 'periods' -%}
    {% do periods.append(name) %}
{%- endfor %}
{%- for name in periods %}

select
    '{{ name }}' as table_name,
    overlapping.id,
    overlapping.valid_from,
    overlapping.valid_to
from (
    {{ secure_datasets.overlapping_periods(name) | indent(4) }}
) as overlapping
{{ 'union all' if not loop.last }}
{%- else %}

select cast(null as string) as table_name
where false
{%- endfor %}
