-- Sound: a query answers each user what the rows give that lead to a key of that user, and
-- shows of that what the user's conditions leave, under the user's masks.
{% set config = secure_datasets.secure_datasets_config() %}
{% call(name, dataset) secure_datasets.law_over(config.datasets) -%}
{% if dataset.query is defined %}
select
    '{{ name }}' as dataset,
    {{ secure_datasets.row_key(dataset, 'surplus') }} as row_key,
    surplus.user_id
from (
    {{ secure_datasets.shown_answer(name, config) | indent(4) }}
    except all
    {{ secure_datasets.expected_answer(name, config) | indent(4) }}
) as surplus
{% endif %}
{%- endcall %}
