-- By its `unique_key` each row of a base is another one: a run in part matches rows by it.
{% set config = secure_datasets.secure_datasets_config() %}
{% call(name, dataset) secure_datasets.law_over(config.datasets) -%}
{%- if dataset.base is defined and not adapter.secure_datasets().parent_dataset(dataset) %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'base') }} as row_key,
    count(*) as times
from {{ ref(dataset.base) }} as base
group by {% for column in dataset.unique_key %}base.{{ column }}{{ ', ' if not loop.last }}{% endfor %}

having count(*) > 1
{%- endif %}
{%- endcall %}
