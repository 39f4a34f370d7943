-- Sound, and closed: whoever sees a row of a dataset with conditions or row security holds a
-- role whose condition is true of it, and a key that it leads to.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in restricted_datasets(config).items() %}
{% set query %}
select
    '{{ name }}' as dataset,
    {{ row_key(dataset, name) }} as row_key,
    {{ name }}.user_id
from (
    select base.*, secure.user_id
    from {{ ref('vw_secure_dataset_' ~ name) }} as secure
    left join {{ ref(dataset.base) }} as base
        on
        {%- for column in dataset.unique_key %}
            {{ 'and ' if not loop.first }}secure.{{ column }} = base.{{ column }}
        {%- endfor %}
) as {{ name }}
where not coalesce({{ meets_every_rule(name, dataset, config) }}, false)
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{{ union_of(queries) }}
