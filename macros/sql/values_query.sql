{#
    Rows as a query, for a CTE that names the columns. Texts and nulls only.

    rows     lists of texts, each as long as `columns`
    columns  how many columns there are, for when there is no row
#}
{% macro values_query(rows, columns) -%}
{%- if rows -%}
values
    {%- for row in rows %}
    {{ secure_datasets.values_row(row) }}{{ ',' if not loop.last }}
    {%- endfor -%}
{%- else -%}
select{% for column in range(columns) %} cast(null as string) as column_{{ loop.index }}{{ ',' if not loop.last }}{% endfor %} where false
{%- endif -%}
{%- endmacro %}
