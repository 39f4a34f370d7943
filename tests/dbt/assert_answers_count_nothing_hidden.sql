-- Sound: a query answers each user what the rows give that lead to a key of that user, and
-- shows of that what the user's conditions leave, under the user's masks.
{% set config = secure_datasets.secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in config.datasets.items() if dataset.query is defined %}
{% set query %}
select
    '{{ name }}' as dataset,
    {{ secure_datasets.row_key(dataset, 'surplus') }} as row_key,
    surplus.user_id
from (
    {{ secure_datasets.shown_answer(name, config) | indent(4) }}
    except all
    {{ secure_datasets.expected_answer(name, config) | indent(4) }}
) as surplus
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{{ secure_datasets.union_of(queries) }}
