-- Sound: every row of a secure dataset is explained by a right of its user.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in datasets_with_tier(config).items() %}
{% for case in dataset_rules(dataset) %}
{% set query %}
select
    '{{ name }}' as dataset,
    {{ row_key(dataset, 'secure') }} as row_key,
    secure.user_id
from {{ unmasked_rows(name, dataset) }} as secure
where
    {{ case.applies }}
    {%- if case.is_for_everyone %}
    {#- Where policies look at each user, a row for everyone bears one. #}
    and {{ 'secure.user_id is not null' if bears_no_user(name, config) else 'false' }}
    {%- else %}
    and not ({{ both_rights_exist(case.rule, config.tiers[case.rule.tier], 'secure', 'secure') }})
    {%- endif %}
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{% endfor %}
{{ union_of(queries) }}
