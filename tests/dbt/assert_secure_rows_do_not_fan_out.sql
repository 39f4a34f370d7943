-- No fan-out: one row for each row of the base and user.
{% set queries = [] %}
{% for name, dataset in secure_datasets_config().datasets.items() %}
{% set query %}
select
    '{{ name }}' as dataset,
    {{ row_key(dataset, 'secure') }} as row_key,
    secure.user_id,
    count(*) as times
from {{ ref('vw_secure_dataset_' ~ name) }} as secure
group by {% for column in dataset.unique_key %}secure.{{ column }}, {% endfor %}secure.user_id
having count(*) > 1
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{{ union_of(queries) }}
