-- Complete: of a restricted dataset, every row that passes the tier and meets the rules is
-- there for its user, once.
{% set config = secure_datasets.secure_datasets_config() %}
{% set rules = adapter.rules_by_exists(secure_datasets, ref, config) %}
{% call(name, dataset) secure_datasets.law_over(adapter.secure_datasets().restricted_datasets(config)) -%}
{%- set ruling = adapter.secure_datasets().ruling_dataset(name, config) %}
select
    '{{ name }}' as dataset,
    missing.row_key,
    missing.user_id
from (
    select
        {{ adapter.secure_datasets().row_key(dataset, ruling) }} as row_key,
        {{ ruling }}.user_id
    from (
        {{ rules.rows_past_the_tier(dataset) | indent(8) }}
    ) as {{ ruling }}
    where {{ rules.meets_every_rule(name, ruling, ruling ~ '.user_id') | indent(4) }}
    except all
    select
        {{ adapter.secure_datasets().row_key(dataset, 'secure') }} as row_key,
        secure.user_id
    from {{ ref('vw_secure_dataset_' ~ name) }} as secure
) as missing
{%- endcall %}
