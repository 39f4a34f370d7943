{#
    The grain of a relation whose key has several columns: fails with each combination that
    occurs more than once. Null counts as a value that equals itself.

    columns  the key's columns
#}
{% test unique_rows(model, columns) %}
{%- if columns is string or columns is not sequence or not columns -%}
    {% do exceptions.raise_compiler_error("unique_rows: 'columns' must be a list of columns, and not empty.") %}
{%- endif -%}
select
    {{ columns | join(',\n    ') }},
    count(*) as row_count
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1
{% endtest %}
