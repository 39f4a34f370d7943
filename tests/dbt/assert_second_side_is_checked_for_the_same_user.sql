-- Two-sided: whoever sees a row with a second side holds the right on it, by the same keys.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in datasets_with_tier(config).items() %}
{% for case in dataset_rules(dataset) if case.rule.second_side is defined %}
{% set tier = config.tiers[case.rule.tier] %}
{% set keys = case.rule.second_side['keys'] %}
{% set query %}
select
    '{{ name }}' as dataset,
    {{ row_key(dataset, 'secure') }} as row_key,
    secure.user_id
from {{ unmasked_rows(name, dataset) }} as secure
left anti join {{ ref(tier.access_view) }} as held
    on
        secure.user_id = held.user_id
        {%- for object_key, column in keys.items() %}
        and secure.{{ column }} = held.{{ object_key }}
        {%- endfor %}
where {{ case.applies }} and secure.{{ case.rule.second_side.unless_null }} is not null
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{% endfor %}
{{ union_of(queries) }}
