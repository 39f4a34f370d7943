{#
    Prints a table for people; nothing in it steers the terminal.

    headers  the column names
    rows     lists of texts
    align    where the columns after the first stand: right, for numbers, or left
#}
{% macro print_table(headers, rows, align='right') %}
    {%- set lines, widths = [], [] -%}
    {%- for row in [headers] + rows -%}
        {%- set cells = [] -%}
        {%- for cell in row -%}
            {% do cells.append(secure_datasets.printable(cell)) %}
        {%- endfor -%}
        {% do lines.append(cells) %}
    {%- endfor -%}
    {%- for header in headers -%}
        {%- set cells = lines | map(attribute=loop.index0) | map('length') -%}
        {% do widths.append(cells | max) %}
    {%- endfor -%}
    {{ print('') }}
    {%- for row in lines -%}
        {%- set cells = [] -%}
        {%- for cell in row -%}
            {%- set padding = ' ' * (widths[loop.index0] - cell | length) -%}
            {% do cells.append(cell ~ padding if loop.first or align == 'left' else padding ~ cell) %}
        {%- endfor -%}
        {{ print((cells | join('  ')).rstrip()) }}
        {%- if loop.first %}{{ print('-' * (widths | sum + 2 * (widths | length - 1))) }}{% endif -%}
    {%- endfor -%}
    {{ print('') }}
{% endmacro %}
