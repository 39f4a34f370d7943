{%- set datasets = secure_datasets.secure_datasets_config().datasets -%}
{{ config(enabled=datasets | length > 0) -}}
-- What does a user see in each secure dataset?
{%- for name in datasets %}
select
    '{{ name }}' as dataset,
    count(*) as rows_seen
from {{ ref('vw_secure_dataset_' ~ name) }}
where user_id = {{ var('user_id', 8) }} or user_id is null
{%- if not loop.last %}
union all
{%- endif %}
{%- endfor %}
order by dataset
