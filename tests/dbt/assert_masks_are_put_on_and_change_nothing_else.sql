-- Each value is that of the base or, for a role that must not see it, the mask of the highest
-- order: a value that is neither is an error. Which rows there are is told by other laws.
{% set config = secure_datasets.secure_datasets_config() %}
{% set rules = adapter.rules_by_exists(secure_datasets, ref, config) %}
{% call(name, dataset) secure_datasets.law_over(adapter.secure_datasets().restricted_datasets(config)) -%}
{%- set ruling = adapter.secure_datasets().ruling_dataset(name, config) %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'secure') }} as row_key,
    secure.user_id
from {{ ref('vw_secure_dataset_' ~ name) }} as secure
inner join (
    select
        {%- for column in dataset.columns %}
        {{ rules.masked_value(name, ruling, column, ruling ~ '.user_id') }} as {{ column }},
        {%- endfor %}
        {{ ruling }}.user_id
    from (
        {{ rules.rows_past_the_tier(dataset) | indent(8) }}
    ) as {{ ruling }}
) as expected
    on
        secure.user_id = expected.user_id
        {%- for column in dataset.unique_key %}
        and secure.{{ column }} <=> expected.{{ column }}
        {%- endfor %}
where
    {%- for column in dataset.columns %}
    {{ 'or ' if not loop.first }}secure.{{ column }} is distinct from expected.{{ column }}
    {%- endfor %}
{%- endcall %}
