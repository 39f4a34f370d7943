-- Complete: of a restricted dataset, every row that passes the tier and meets the rules is
-- there for its user, once.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in restricted_datasets(config).items() %}
{% set ruling = ruling_dataset(name, config) %}
{% set query %}
select
    '{{ name }}' as dataset,
    missing.row_key,
    missing.user_id
from (
    select
        {{ row_key(dataset, ruling) }} as row_key,
        {{ ruling }}.user_id
    from (
        {{ rows_past_the_tier(dataset, config) | indent(8) }}
    ) as {{ ruling }}
    where {{ meets_every_rule(name, config, ruling, ruling ~ '.user_id') | indent(4) }}
    except all
    select
        {{ row_key(dataset, 'secure') }} as row_key,
        secure.user_id
    from {{ ref('vw_secure_dataset_' ~ name) }} as secure
) as missing
{% endset %}
{% do queries.append(query) %}
{% endfor %}
{{ union_of(queries) }}
