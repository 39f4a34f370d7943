-- Sound: every row of a secure dataset is explained by a right of its user.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in datasets_with_tier(config).items() %}
{% set secure = unmasked_rows(name, dataset) %}
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
        {#- Where policies look at each user, a row for everyone bears one. #}
        {{ 'seen.user_id is not null' if has_public_rows(name, config) else 'false' }}
        {%- else -%}
        not ({{ both_rights_exist(case.rule, config.tiers[case.rule.tier], 'seen', 'seen.user_id') }})
        {%- endif %}
) as unexplained
    on{{ columns_agree(deciding_columns(case) + ['user_id'], 'secure', 'unexplained') }}
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{% endfor %}
{{ union_of(queries) }}
