{#
    What a state says of itself, so that another one can be compared with it: its tiers and
    secure datasets, as the config had them when it was built.
#}
{% macro state_definitions_query() -%}
{%- set config, rows = secure_datasets.secure_datasets_config(), [] -%}
{%- for name, tier in config.tiers.items() -%}
    {%- do rows.append(['tier', name, tojson(dict(secure_datasets.tier_parts(name, config), relation=tier.access_view, carries=tier.carries))]) -%}
{%- endfor -%}
{%- for name, dataset in config.datasets.items() -%}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set tiers = secure_datasets.gate_cases(ruling, config) | map(attribute='tier') | select | unique | list -%}
    {%- do rows.append(['dataset', name, tojson({
        'relation': 'vw_secure_dataset_' ~ name, 'keys': dataset.unique_key, 'base': dataset.base | default(none), 'columns': dataset.columns,
        'masked': secure_datasets.policies_on(name, config).masks.keys() | list, 'tiers': tiers,
    })]) -%}
{%- endfor -%}
with definitions (kind, name, definition) as (
    {{ secure_datasets.values_query(rows, 3) }}
)

select
    kind,
    name,
    definition,
    {{ secure_datasets.sql_text(adapter.product_version()) }} as product_version
from definitions
{%- endmacro %}
