-- Complete: every line of the answer to each user's own rows is there, and with its values.
{% set config = secure_datasets.secure_datasets_config() %}
{% set rules = adapter.rules_by_exists(secure_datasets, ref, config) %}
{% call(name, dataset) secure_datasets.law_over(config.datasets) -%}
{% if dataset.query is defined %}
select
    '{{ name }}' as dataset,
    {{ adapter.secure_datasets().row_key(dataset, 'missing') }} as row_key,
    missing.user_id
from (
    {{ rules.expected_answer(name) | indent(4) }}
    except all
    {{ rules.shown_answer(name) | indent(4) }}
) as missing
{% endif %}
{%- endcall %}
