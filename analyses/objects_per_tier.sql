-- How much does one user see per tier?
select
    'context' as tier,
    count(*) as objects
from {{ ref('vw_secure_dataset_event_history') }}
where user_id = {{ var('user_id', 8) }} or user_id is null
{% for name, tier in secure_datasets.secure_datasets_config().tiers.items() -%}
union all
select
    '{{ name | replace('_', ' ') }}' as tier,
    count(*) as objects
from {{ ref(tier.access_view) }}
where user_id = {{ var('user_id', 8) }}
{% endfor -%}
order by tier
