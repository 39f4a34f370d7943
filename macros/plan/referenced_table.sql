{#
    The raw table that a key of a row refers to, by the documentation of the model's column:
    `meta: {refers_to: ...}` or, if a second column of the key decides, `row_of: {<column>:
    {<value>: ...}}`. None if it refers to no raw table.

    model   the model
    column  the column
    row     the key of the row, by column
#}
{% macro referenced_table(model, column, row) %}
    {%- set meta = secure_datasets._documented_columns().get(model, {}).get(column, {}) -%}
    {%- set names = [meta.get('refers_to')] -%}
    {%- for other, by_value in meta.get('row_of', {}).items() -%}
        {%- do names.append(by_value.get(row.get(other))) -%}
    {%- endfor -%}
    {%- for table in secure_datasets.repository_tables() if 'stg_' ~ table in names -%}
        {{ return(table) }}
    {%- endfor -%}
    {{ return(none) }}
{% endmacro %}
