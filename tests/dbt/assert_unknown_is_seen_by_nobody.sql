-- Fail closed: no row with a null key, with no user, or of a case that is not declared.
{% set config = secure_datasets.secure_datasets_config() %}
{% call(name, dataset) secure_datasets.law_over(adapter.secure_datasets().datasets_with_tier(config)) -%}
{% set allowed = [] %}
{% for case in adapter.secure_datasets().tier_rules(dataset) %}
{% set condition %}
(
        {{ case.applies }}
        {%- if not case.is_for_everyone %}
        and secure.user_id is not null
        {%- for column in case.rule['keys'].values() %}
        and secure.{{ column }} is not null
        {%- endfor %}
        {%- endif %}
    )
{%- endset %}
{% do allowed.append(condition) %}
{% endfor %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'secure') }} as row_key,
    secure.user_id
from {{ secure_datasets.unmasked_rows(name, dataset) }} as secure
where not coalesce(
    {{ allowed | join(' or ') }},
    false
)
{%- endcall %}
