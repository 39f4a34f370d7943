-- Same columns: the base's, in order, then user_id, then what the tier carries.
{% set config = secure_datasets.secure_datasets_config() %}
{% call(name, dataset) secure_datasets.law_over(adapter.secure_datasets().datasets_with_tier(config)) -%}
{%- set tier = config.tiers[dataset.tier or (dataset.switch.cases.values() | selectattr('tier', 'defined') | first).tier] %}
select
    '{{ name }}' as dataset,
    concat(
        substr(base.columns, 1, length(base.columns) - 1), ',', substr(added.columns, 8)
    ) as expected,
    secure.columns as found
from ({{ secure_datasets.columns_of(ref(dataset.base)) }}) as base
cross join ({{ secure_datasets.columns_of(ref(tier.access_view), ['user_id'] + tier.carries) }}) as added
cross join ({{ secure_datasets.columns_of(ref('vw_secure_dataset_' ~ name)) }}) as secure
where
    concat(substr(base.columns, 1, length(base.columns) - 1), ',', substr(added.columns, 8))
    != secure.columns
{%- endcall %}
