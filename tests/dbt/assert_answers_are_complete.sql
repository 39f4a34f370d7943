-- Complete: every line of the answer to each user's own rows is there, and with its values.
{% set config = secure_datasets.secure_datasets_config() %}
{% call(name, dataset) secure_datasets.law_over(config.datasets) -%}
{% if dataset.query is defined %}
select
    '{{ name }}' as dataset,
    {{ secure_datasets.row_key(dataset, 'missing') }} as row_key,
    missing.user_id
from (
    {{ secure_datasets.expected_answer(name, config) | indent(4) }}
    except all
    {{ secure_datasets.shown_answer(name, config) | indent(4) }}
) as missing
{% endif %}
{%- endcall %}
