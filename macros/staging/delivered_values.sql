{# A query of some columns of each delivery of a raw table, as read. #}
{% macro delivered_values(name, columns) -%}
with {{ secure_datasets.read_deliveries(name, columns) }}

select
    {{ columns | join(',\n    ') }}
from dated
{%- endmacro %}
