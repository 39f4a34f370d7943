{#
    Prints a table for people; nothing in it steers the terminal.

    headers  the column names
    rows     lists of texts
    align    where the columns after the first stand: right, for numbers, or left
#}
{% macro print_table(headers, rows, align='right') %}
    {{ print('') }}
    {%- for line in adapter.secure_datasets().table_lines(headers, rows, align) -%}
        {{ print(line) }}
    {%- endfor -%}
    {{ print('') }}
{% endmacro %}
