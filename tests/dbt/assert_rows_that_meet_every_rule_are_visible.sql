-- Complete: of a restricted dataset, every row that passes the tier and meets the rules is
-- there for its user, once.
{% set config = secure_datasets_config() %}
{% set queries = [] %}
{% for name, dataset in restricted_datasets(config).items() %}
{% set ruled = ruling_dataset(name, config) %}
{% set query %}
select
    '{{ name }}' as dataset,
    missing.row_key,
    missing.user_id
from (
    select
        {{ row_key(dataset, ruled) }} as row_key,
        {{ ruled }}.user_id
    from (
        {{ rows_past_the_tier(dataset, config) | indent(8) }}
    ) as {{ ruled }}
    where {{ meets_every_rule(name, config, ruled, ruled ~ '.user_id') | indent(4) }}
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
