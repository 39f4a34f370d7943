-- Two-sided: whoever sees a row with a second side holds the right on it, by the same keys.
{% set config = secure_datasets.secure_datasets_config() %}
{% set datasets = adapter.secure_datasets().datasets_with_tier(config) %}
{% call(name, dataset, case) secure_datasets.law_over(datasets, by_case=datasets) -%}
{%- set secure = secure_datasets.unmasked_rows(name, dataset) %}
{% if case.rule.second_side is defined %}
{%- set tier = config.tiers[case.rule.tier] %}
select /*+ broadcast(unchecked) */
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'secure') }} as row_key,
    secure.user_id
from (select * from {{ secure }} where {{ case.applies }}) as secure
inner join (
    select seen.*
    from (
    {{ secure_datasets.row_groups(dataset, case, secure, by_user=true) }}
    ) as seen
    left anti join {{ ref(tier.access_view) }} as held
        on
            seen.user_id = held.user_id
            {%- for object_key, column in case.rule.second_side['keys'].items() %}
            and seen.{{ column }} = held.{{ object_key }}
            {%- endfor %}
    where seen.{{ case.rule.second_side.unless_null }} is not null
) as unchecked
    on {{ adapter.secure_datasets().same('secure', 'unchecked', adapter.secure_datasets().deciding_columns(case) + ['user_id'], '<=>') }}
{% endif %}
{%- endcall %}
