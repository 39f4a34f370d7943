{#
    Renders the query of a mapping that the sample has as a seed. With other raw tables it has
    no rows: ids of the sample would mean other users, groups and data sources there.

    Call     {{ secure_datasets.sample_mapping('user_group_business_units', {'user_group_id': 'bigint'}) }}

    seed     the seed
    columns  its columns with their types
#}
{% macro sample_mapping(seed, columns) -%}
{%- set has_rows = secure_datasets.reads_sample() -%}
select
    {%- for column, type in columns.items() %}
    {{ column if has_rows else 'cast(null as ' ~ type ~ ') as ' ~ column }}{{ ',' if not loop.last }}
    {%- endfor %}
{{ 'from ' ~ ref(seed) if has_rows else 'where false' }}
{%- endmacro %}
