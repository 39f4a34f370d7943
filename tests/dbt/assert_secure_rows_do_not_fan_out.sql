-- No fan-out: one row for each row of the base and user.
{% set config = secure_datasets.secure_datasets_config() %}
{% set by_tier_alone = adapter.secure_datasets().datasets_with_tier(config, and_no_more=true) %}
{% call(name, dataset, case=none) secure_datasets.law_over(config.datasets, by_case=by_tier_alone) -%}
{%- set secure = ref('vw_secure_dataset_' ~ name) %}
{% if case %}
{%- set columns = adapter.secure_datasets().deciding_columns(case) %}
select /*+ broadcast(crowded) */
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'secure') }} as row_key,
    secure.user_id,
    count(*) as times
from (select * from {{ secure }} where {{ case.applies }}) as secure
inner join (
    select seen.*
    from (
    {{ secure_datasets.row_groups(dataset, case, secure, by_user=true) }}
    ) as seen
    left join (
    {{ secure_datasets.row_groups(dataset, case, ref(dataset.base), by_user=false) }}
    ) as alike
        on {{ adapter.secure_datasets().same('seen', 'alike', columns, '<=>') }}
    where
        alike.row_count is null
        or seen.row_count != alike.row_count
        or seen.fingerprint != alike.fingerprint
) as crowded
    on {{ adapter.secure_datasets().same('secure', 'crowded', columns + ['user_id'], '<=>') }}
group by {% for column in dataset.unique_key %}secure.{{ column }}, {% endfor %}secure.user_id
having count(*) > 1
{% else %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'secure') }} as row_key,
    secure.user_id,
    count(*) as times
from {{ secure }} as secure
group by {% for column in dataset.unique_key %}secure.{{ column }}, {% endfor %}secure.user_id
having count(*) > 1
{% endif %}
{%- endcall %}
