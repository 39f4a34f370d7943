-- Sound and complete: a layered dataset without rules of its own shows each user the rows of the
-- dataset below, as often as that.
{% set config = secure_datasets.secure_datasets_config() %}
{% call(name, dataset) secure_datasets.law_over(config.datasets) -%}
{%- if adapter.secure_datasets().parent_dataset(dataset) and not adapter.secure_datasets().is_restricted(name, config) %}
{%- set keys = dataset.unique_key + ['user_id'] %}
{%- set shown = 'select ' ~ keys | join(', ') ~ ' from ' ~ ref('vw_secure_dataset_' ~ name) %}
{%- set below = 'select ' ~ keys | join(', ') ~ ' from ' ~ ref(dataset.base) %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'differing') }} as row_key,
    differing.user_id
from (
    ({{ shown }} except all {{ below }})
    union all
    ({{ below }} except all {{ shown }})
) as differing
{%- endif %}
{%- endcall %}
