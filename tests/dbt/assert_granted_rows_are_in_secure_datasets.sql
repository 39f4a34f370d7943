-- Complete: every row of a base dataset is there for every user with a right on it.
{% set config = secure_datasets.secure_datasets_config() %}
{% set rules = adapter.rules_by_exists(secure_datasets, ref, config) %}
{% set datasets = adapter.secure_datasets().datasets_with_tier(config, and_no_more=true) %}
{% call(name, dataset, case) secure_datasets.law_over(datasets, by_case=datasets) -%}
{%- set secure = ref('vw_secure_dataset_' ~ name) %}
{%- set tier = config.tiers[case.rule.tier] if not case.is_for_everyone %}
{%- set columns = adapter.secure_datasets().deciding_columns(case) %}
select * from (
with granted as (

    select
        alike.*,
        {{ 'cast(null as bigint) as user_id' if case.is_for_everyone else 'users.user_id' }}
    from (
    {{ secure_datasets.row_groups(dataset, case, ref(dataset.base), by_user=false) }}
    ) as alike
    {%- if not case.is_for_everyone %}
    inner join {{ ref(tier.access_view) }} as users
        on
        {%- for object_key, column in case.rule['keys'].items() %}
            {{ 'and ' if not loop.first }}users.{{ object_key }} = alike.{{ column }}
        {%- endfor %}
    {%- if case.rule.second_side is defined %}
    where
        alike.{{ case.rule.second_side.unless_null }} is null
        or {{ rules.right_exists(case.rule.tier, case.rule.second_side['keys'], 'alike', 'users.user_id') }}
    {%- endif %}
    {%- endif %}

),

incomplete as (

    select granted.*
    from granted
    left join (
    {{ secure_datasets.row_groups(dataset, case, secure, by_user=true) }}
    ) as seen
        on {{ adapter.secure_datasets().same('granted', 'seen', columns + ['user_id'], '<=>') }}
    where
        seen.row_count is null
        or seen.row_count != granted.row_count
        or seen.fingerprint != granted.fingerprint

)

select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'missing') }} as row_key,
    missing.user_id
from (
select /*+ broadcast(incomplete) */
    {% for column in dataset.unique_key %}base.{{ column }}, {% endfor %}incomplete.user_id
from (select * from {{ ref(dataset.base) }} where {{ case.applies }}) as base
inner join incomplete
    on {{ adapter.secure_datasets().same('base', 'incomplete', columns, '<=>') }}
except
select /*+ broadcast(incomplete) */
    {% for column in dataset.unique_key %}secure.{{ column }}, {% endfor %}secure.user_id
from {{ secure }} as secure
left semi join incomplete
    on {{ adapter.secure_datasets().same('secure', 'incomplete', columns + ['user_id'], '<=>') }}
) as missing
)
{%- endcall %}
