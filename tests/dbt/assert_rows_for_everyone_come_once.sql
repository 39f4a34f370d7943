-- A row that everyone sees is there once, and bears neither a user nor how it is seen.
{% set config = secure_datasets.secure_datasets_config() %}
{% set datasets = adapter.secure_datasets().datasets_with_tier(config, and_no_more=true) %}
{% call(name, dataset, case) secure_datasets.law_over(datasets, by_case=datasets) -%}
{% if case.is_for_everyone %}
{%- set tier = (dataset.switch.cases.values() | selectattr('tier', 'defined') | first).tier %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'base') }} as row_key,
    count(secure.{{ dataset.switch.column }}) as times,
    count(secure.user_id) as times_with_user
from {{ ref(dataset.base) }} as base
left join {{ ref('vw_secure_dataset_' ~ name) }} as secure
    on
    {%- for column in dataset.unique_key %}
        {{ 'and ' if not loop.first }}base.{{ column }} <=> secure.{{ column }}
    {%- endfor %}
where base.{{ case.applies }}
group by {% for column in dataset.unique_key %}base.{{ column }}{{ ', ' if not loop.last }}{% endfor %}

having
    count(secure.{{ dataset.switch.column }}) != 1
    or count(secure.user_id) > 0
    {%- for column in config.tiers[tier].carries %}
    or count(secure.{{ column }}) > 0
    {%- endfor %}
{% endif %}
{%- endcall %}
