-- Complete: every row of a base dataset is there for every user with a right on it.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in datasets_with_tier(config, and_no_more=true).items() %}
{% set expected = [] %}
{% for case in dataset_rules(dataset) %}
{% set tier = config.tiers[case.rule.tier] if not case.is_for_everyone %}
{% set query %}
select
    {{ row_key(dataset, 'base') }} as row_key,
    {{ 'cast(null as bigint)' if case.is_for_everyone else 'users.user_id' }} as user_id
from {{ ref(dataset.base) }} as base
{%- if not case.is_for_everyone %}
inner join {{ ref(tier.access_view) }} as users
    on
    {%- for object_key, column in case.rule['keys'].items() %}
        {{ 'and ' if not loop.first }}users.{{ object_key }} = base.{{ column }}
    {%- endfor %}
{%- endif %}
where
    {{ case.applies }}
    {%- if case.rule.second_side is defined %}
    and (
        base.{{ case.rule.second_side.unless_null }} is null
        or {{ right_exists(tier, case.rule.second_side['keys'], 'base', 'users') }}
    )
    {%- endif %}
{% endset %}
{% do expected.append(query) %}
{% endfor %}
{% set query %}
select
    '{{ name }}' as dataset,
    missing.row_key,
    missing.user_id
from (
    {{ union_of(expected) }}
    except
    select
        {{ row_key(dataset, 'secure') }} as row_key,
        secure.user_id
    from {{ ref('vw_secure_dataset_' ~ name) }} as secure
) as missing
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{{ union_of(queries) }}
