-- Fail closed: of a query that row security restricts, a user whom a security object maps to
-- no key sees nothing, not even a total of nothing.
{% set config = secure_datasets.secure_datasets_config() %}
{% set rules = adapter.rules_by_exists(secure_datasets, ref, config) %}
{% call(name, dataset) secure_datasets.law_over(config.datasets) -%}
{% if dataset.query is defined %}
{%- for restriction in adapter.secure_datasets().restrictions_on(dataset, config) %}
{% if not loop.first %}union all{% endif %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'secure') }} as row_key,
    secure.user_id
from {{ ref('vw_secure_dataset_' ~ name) }} as secure
where not coalesce({{ rules.any_key_is_held(restriction.object, 'secure.user_id') }}, false)
{%- endfor %}
{% endif %}
{%- endcall %}
