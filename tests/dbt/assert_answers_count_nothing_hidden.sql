-- Sound: a query answers each user what the rows give that lead to a key of that user, and
-- shows of that what the user's conditions leave, under the user's masks.
{% set config = secure_datasets.secure_datasets_config() %}
{% set rules = adapter.rules_by_exists(secure_datasets, ref, config) %}
{% call(name, dataset) secure_datasets.law_over(config.datasets) -%}
{% if dataset.query is defined %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'surplus') }} as row_key,
    surplus.user_id
from (
    {{ rules.shown_answer(name) | indent(4) }}
    except all
    {{ rules.expected_answer(name) | indent(4) }}
) as surplus
{% endif %}
{%- endcall %}
