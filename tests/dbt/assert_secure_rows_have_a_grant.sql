-- Sound: every row of a secure dataset is explained by a right of its user.
{% set config = secure_datasets.secure_datasets_config() %}
{% set rules = adapter.rules_by_exists(secure_datasets, ref, config) %}
{% set datasets = adapter.secure_datasets().datasets_with_tier(config) %}
{% call(name, dataset, case) secure_datasets.law_over(datasets, by_case=datasets) -%}
{%- set secure = secure_datasets.unmasked_rows(name, dataset) %}
select /*+ broadcast(unexplained) */
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'secure') }} as row_key,
    secure.user_id
from (select * from {{ secure }} where {{ case.applies }}) as secure
inner join (
    select seen.*
    from (
    {{ secure_datasets.row_groups(dataset, case, secure, by_user=true) }}
    ) as seen
    where
        {% if case.is_for_everyone -%}
        {#- Where policies look at each user, a row for everyone bears one. #}
        {{ 'seen.user_id is not null' if adapter.secure_datasets().has_public_rows(name, config) else 'false' }}
        {%- else -%}
        not ({{ rules.both_rights_exist(case.rule, 'seen', 'seen.user_id') }})
        {%- endif %}
) as unexplained
    on {{ adapter.secure_datasets().same('secure', 'unexplained', adapter.secure_datasets().deciding_columns(case) + ['user_id'], '<=>') }}
{%- endcall %}
