-- Sound, and closed: whoever sees a row of a restricted dataset is authorized on it as a view,
-- holds a role whose condition is true of it, and a key that it leads to. A row seen through
-- a chain of views must pass the tier at its end as well, and one of a layered dataset must be
-- of its user below; others do by a law of their own.
{% set config = secure_datasets.secure_datasets_config() %}
{% set rules = adapter.rules_by_exists(secure_datasets, ref, config) %}
{% call(name, dataset) secure_datasets.law_over(adapter.secure_datasets().restricted_datasets(config)) -%}
{%- set ruling = adapter.secure_datasets().ruling_dataset(name, config) %}
{%- set is_over_another = name != ruling or adapter.secure_datasets().parent_dataset(dataset) %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, ruling) }} as row_key,
    {{ ruling }}.user_id
from (
    select
        {%- for column in config.datasets[ruling].columns %}
        {{ 'secure' if column in dataset.unique_key else 'base' }}.{{ column }},
        {%- endfor %}
        {%- for column in adapter.secure_datasets().tier_columns(dataset, config) if adapter.secure_datasets().parent_dataset(dataset) %}
        base.{{ column }},
        {%- endfor %}
        secure.user_id,
        {{ 'base.user_id is not null' if is_over_another else 'true' }} as passes_the_tier
    from {{ ref('vw_secure_dataset_' ~ name) }} as secure
    {%- if is_over_another %}
    left join (
        {{ rules.rows_past_the_tier(dataset) | indent(8) }}
    ) as base
        on
            secure.user_id = base.user_id
            and{% else %}
    left join {{ ref(dataset.base) }} as base
        on
        {%- endif %}
        {%- for column in dataset.unique_key %}
            {{ 'and ' if not loop.first }}secure.{{ column }} <=> base.{{ column }}
        {%- endfor %}
) as {{ ruling }}
where
    not coalesce(
        passes_the_tier and {{ rules.meets_every_rule(name, ruling, ruling ~ '.user_id') | indent(8) }},
        false
    )
{%- endcall %}
