{#
    One row of values_query().

    row  its texts and nulls
#}
{% macro values_row(row) -%}
({% for value in row %}{{ 'cast(null as string)' if value is none else secure_datasets.sql_text(value) }}{{ ', ' if not loop.last }}{% endfor %})
{%- endmacro %}
