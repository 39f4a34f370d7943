{# A query of what each delivery of a raw table says in some columns, as read. #}
{% macro delivered_values(name, columns) -%}
with {{ secure_datasets.read_deliveries(name, columns) }}

select
    {{ columns | join(',\n    ') }}
from dated
{%- endmacro %}
