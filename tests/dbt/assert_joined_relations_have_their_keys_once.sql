-- By the columns of a relationship a row has one row of the relation that it leads to: where
-- the relation had a key twice, a secure dataset would show a row twice, and a sum count it twice.
{% set config = secure_datasets.secure_datasets_config() %}
{%- set queries = [] -%}
{%- for link in config.relationships or [] if link.to.dataset is defined -%}
{%- set key = {'unique_key': link['from'].join_columns} -%}
{%- set query -%}
select
    '{{ link['from'].dataset }}' as joined_from,
    '{{ link.to.dataset }}' as relation,
    {{ adapter.secure_datasets().row_key(key, 'joined') }} as row_key,
    count(*) as times
from {{ ref(link.to.dataset) }} as joined
where {% for column in link['from'].join_columns %}{{ 'and ' if not loop.first }}joined.{{ column }} is not null{{ ' ' if not loop.last }}{% endfor %}

group by {% for column in link['from'].join_columns %}joined.{{ column }}{{ ', ' if not loop.last }}{% endfor %}

having count(*) > 1
{%- endset -%}
{%- do queries.append(query) -%}
{%- endfor %}
{{ adapter.secure_datasets().union_of(queries) }}
