-- Sound: every row of a secure dataset is explained by a right of its user.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in config.datasets.items() %}
{% set secure = ref('vw_secure_dataset_' ~ name) %}
{% for case in dataset_rules(dataset) %}
{% set query %}
select /*+ broadcast(unexplained) */
    '{{ name }}' as dataset,
    {{ row_key(dataset, 'secure') }} as row_key,
    secure.user_id
from (select * from {{ secure }} where {{ case.applies }}) as secure
inner join (
    select seen.*
    from (
    {{ row_groups(dataset, case, secure, by_user=true) }}
    ) as seen
    where
        {% if case.is_for_everyone -%}
        seen.user_id is not null
        {%- else -%}
        not ({{ both_rights_exist(case.rule, config.tiers[case.rule.tier], 'seen', 'seen') }})
        {%- endif %}
) as unexplained
    on{{ columns_agree(deciding_columns(case) + ['user_id'], 'secure', 'unexplained') }}
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{% endfor %}
{{ union_of(queries) }}
