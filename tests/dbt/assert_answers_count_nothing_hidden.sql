-- Sound: a query answers each user what the rows give that lead to a key of that user, and
-- shows of that what the user's conditions leave, under the user's masks.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in config.datasets.items() if dataset.query is defined %}
{% set query %}
select
    '{{ name }}' as dataset,
    {{ row_key(dataset, 'surplus') }} as row_key,
    surplus.user_id
from (
    {{ shown_answer(name, config) | indent(4) }}
    except all
    {{ expected_answer(name, config) | indent(4) }}
) as surplus
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{{ union_of(queries) }}
