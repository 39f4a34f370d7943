{# The shared parts of the laws about the tiers. A law is a data test over every dataset. #}


{# The visible rows of a dataset with their unmasked values, on which the tier decides. #}
{% macro unmasked_rows(name, dataset) -%}
{%- if not adapter.rules_by_exists(secure_datasets, ref, secure_datasets.secure_datasets_config()).policies(name).masks -%}
{{ ref('vw_secure_dataset_' ~ name) }}
{%- else -%}
(
    select base.{{ dataset.columns | join(', base.') }}, seen.user_id
    from {{ ref('vw_secure_dataset_' ~ name) }} as seen
    left join {{ ref(dataset.base) }} as base
        on
        {%- for column in dataset.unique_key %}
            {{ 'and ' if not loop.first }}seen.{{ column }} <=> base.{{ column }}
        {%- endfor %}
)
{%- endif -%}
{%- endmacro %}


{#
    The rows that a rule is about, in groups that it must treat alike, with their number and a
    fingerprint of their keys. A law compares groups, which are few, and looks at single rows
    only in wrong groups.
#}
{% macro row_groups(dataset, case, relation, by_user) -%}
{%- set columns = adapter.secure_datasets().deciding_columns(case) + (['user_id'] if by_user else []) -%}
select
        {%- for column in columns %}
        {{ column }},
        {%- endfor %}
        count(*) as row_count,
        bit_xor(xxhash64({{ dataset.unique_key | join(', ') }})) as fingerprint
    from {{ relation }}
    where {{ case.applies }}
    {%- if columns %}
    group by {{ columns | join(', ') }}
    {%- else %}
    having count(*) > 0
    {%- endif %}
{%- endmacro %}


{#
    A law: the union of the queries that its `call` block renders for each dataset, from name and
    entry; for a dataset in `by_case`, for each case. An empty result adds no query.
#}
{% macro law_over(datasets, by_case={}) -%}
{%- set queries = [] -%}
{%- for name, dataset in datasets.items() -%}
    {%- if name in by_case -%}
        {%- for case in adapter.secure_datasets().tier_rules(dataset) -%}
            {%- do queries.append(caller(name, dataset, case) | trim) -%}
        {%- endfor -%}
    {%- else -%}
        {%- do queries.append(caller(name, dataset) | trim) -%}
    {%- endif -%}
{%- endfor -%}
{{ adapter.secure_datasets().union_of(queries | select | list) }}
{%- endmacro %}


{# One row: a relation's columns with their types, `struct<name:type,...>`. Reads no data. #}
{% macro columns_of(relation, only=none) -%}
select typeof(struct({% if only %}{% for column in only %}described.{{ column }}{{ ', ' if not loop.last }}{% endfor %}{% else %}described.*{% endif %})) as columns
    from (select 1 as one) as always
    left join (select * from {{ relation }} where false) as described on true
{%- endmacro %}
