{# A query of some columns of each delivery of a raw table, as read; `feed` as in `read_deliveries`. #}
{% macro delivered_values(name, columns, feed=none) -%}
with {{ secure_datasets.read_deliveries(name, columns, feed=feed) }}

select
    {{ columns | join(',\n    ') }}
from dated
{%- endmacro %}
