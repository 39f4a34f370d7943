-- Complete: every line of the answer to each user's own rows is there, and with its values.
{% set config = secure_datasets.secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in config.datasets.items() if dataset.query is defined %}
{% set query %}
select
    '{{ name }}' as dataset,
    {{ secure_datasets.row_key(dataset, 'missing') }} as row_key,
    missing.user_id
from (
    {{ secure_datasets.expected_answer(name, config) | indent(4) }}
    except all
    {{ secure_datasets.shown_answer(name, config) | indent(4) }}
) as missing
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{{ secure_datasets.union_of(queries) }}
