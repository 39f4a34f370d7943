{#
    Rows as a query, for a CTE that names the columns. Texts and nulls only.

    rows     lists of texts, each as long as `columns`
    columns  how many columns there are, for when there is no row
#}
{% macro values_query(rows, columns) -%}
{%- do secure_datasets.check_adapter() -%}
{{ adapter.secure_datasets().values_query(rows, columns) }}
{%- endmacro %}
