{# The shared parts of the laws about the tiers. A law is a data test over every dataset. #}


{# The visible rows of a dataset with their unmasked values, on which the tier decides. #}
{% macro unmasked_rows(name, dataset) -%}
{%- if not secure_datasets.policies_on(name, secure_datasets.secure_datasets_config()).masks -%}
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


{# A row's key as one text, for a person who looks for it. #}
{% macro row_key(dataset, relation) -%}
concat_ws('/'{% for column in dataset.unique_key %}, cast({{ relation }}.{{ column }} as string){% endfor %})
{%- endmacro %}


{#
    Whether a user, an expression, holds the tier's right on the keys of `relation`. Here and in the
    other rules no relation of a rule's own has a name that a dataset may have, since the row bears that.
#}
{% macro right_exists(tier, keys, relation, user) -%}
exists (
        select 1
        from {{ ref(tier.access_view) }} as _held
        where _held.user_id = {{ user }}
        {%- for object_key, column in keys.items() %}
            and _held.{{ object_key }} = {{ relation }}.{{ column }}
        {%- endfor %}
    )
{%- endmacro %}


{# Whether a user holds the right on both sides, if there is a second side. #}
{% macro both_rights_exist(rule, tier, relation, user) -%}
{{ secure_datasets.right_exists(tier, rule['keys'], relation, user) }}
{%- if rule.second_side is defined %}
    and (
        {{ relation }}.{{ rule.second_side.unless_null }} is null
        or {{ secure_datasets.right_exists(tier, rule.second_side['keys'], relation, user) }}
    )
{%- endif -%}
{%- endmacro %}


{#
    The rows that a rule is about, in groups that it must treat alike, with their number and a
    fingerprint of their keys. A law compares groups, which are few, and looks at single rows
    only in wrong groups.
#}
{% macro row_groups(dataset, case, relation, by_user) -%}
{%- set columns = secure_datasets.deciding_columns(case) + (['user_id'] if by_user else []) -%}
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


{# Whether two relations agree on columns, where null agrees with null. #}
{% macro columns_agree(columns, left, right) -%}
{%- for column in columns %}
            {{ 'and ' if not loop.first }}{{ left }}.{{ column }} <=> {{ right }}.{{ column }}
{%- else %}
            true
{%- endfor -%}
{%- endmacro %}


{#
    A law: the union of the queries that its `call` block renders for each dataset, from name and
    entry; for a dataset in `by_case`, for each case. An empty result adds no query.
#}
{% macro law_over(datasets, by_case={}) -%}
{%- set queries = [] -%}
{%- for name, dataset in datasets.items() -%}
    {%- if name in by_case -%}
        {%- for case in secure_datasets.dataset_rules(dataset) -%}
            {%- do queries.append(caller(name, dataset, case) | trim) -%}
        {%- endfor -%}
    {%- else -%}
        {%- do queries.append(caller(name, dataset) | trim) -%}
    {%- endif -%}
{%- endfor -%}
{{ secure_datasets.union_of(queries | select | list) }}
{%- endmacro %}


{# One query out of several; one without rows out of none. #}
{% macro union_of(queries) -%}
{{ queries | join('\nunion all\n') if queries else 'select 1 as nothing_to_check where false' }}
{%- endmacro %}


{# One row: a relation's columns with their types, `struct<name:type,...>`. Reads no data. #}
{% macro columns_of(relation, only=none) -%}
select typeof(struct({% if only %}{% for column in only %}described.{{ column }}{{ ', ' if not loop.last }}{% endfor %}{% else %}described.*{% endif %})) as columns
    from (select 1 as one) as always
    left join (select * from {{ relation }} where false) as described on true
{%- endmacro %}
