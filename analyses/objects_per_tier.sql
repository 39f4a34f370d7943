-- How much does one user see per tier?
{%- set config = secure_datasets.secure_datasets_config() %}
{%- if 'event_history' in config.datasets %}
select
    'context' as tier,
    count(*) as objects
from {{ ref('vw_secure_dataset_event_history') }}
where user_id = {{ var('user_id', 8) }} or user_id is null
union all
{%- endif %}
{%- for name, tier in config.tiers.items() %}
select
    '{{ name | replace('_', ' ') }}' as tier,
    count(*) as objects
from {{ ref(tier.access_view) }}
where user_id = {{ var('user_id', 8) }}
{%- if not loop.last %}
union all
{%- endif %}
{%- endfor %}
order by tier
