-- Same columns: the base's, in order, then user_id, then what the tier carries.
{% set queries = [] %}
{% if execute %}
{% set config = secure_datasets_config() %}
{% for name, dataset in config.datasets.items() %}
{% set tier = dataset.tier or (dataset.switch.cases.values() | selectattr('tier', 'defined') | first).tier %}
{% set base = adapter.get_columns_in_relation(ref(dataset.base)) | map(attribute='name') | list %}
{% set secure = adapter.get_columns_in_relation(ref('vw_secure_dataset_' ~ name)) | map(attribute='name') | list %}
{% set expected = base + ['user_id'] + config.tiers[tier].carries %}
{% if secure != expected %}
{% do queries.append(
    "select '" ~ name ~ "' as dataset, '" ~ expected | join(', ') ~ "' as expected, '"
    ~ secure | join(', ') ~ "' as found"
) %}
{% endif %}
{% endfor %}
{% endif %}
{{ union_of(queries) }}
-- depends on:
{% for name, dataset in secure_datasets_config().datasets.items() %}
-- {{ ref(dataset.base) }}, {{ ref('vw_secure_dataset_' ~ name) }}
{% endfor %}
