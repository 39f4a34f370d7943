{#
    The steps that read all deliveries of a raw table. Each query of deliveries begins with them: staging,
    past states, timelines and uncounted deliveries. The last step, `dated`, has one row per delivery: the
    delivery as it came, its id, and the sort keys of deliveries with one id.

    name     the raw table
    columns  further columns, each as it is read
    rows     a relation of some raw rows; none for the raw table
    until    the moment until which deliveries were loaded; none for all
    types    the columns of a delivery with their types; none for the columns of the raw table
    readings how the columns are read by their types, if it is known already
    feed     the result of feed_over_time(); none for the present, or one past state
#}
{% macro read_deliveries(name, columns=[], rows=none, until=none, types=none, readings=none, feed=none) -%}
{{ adapter.staging('read_deliveries', secure_datasets._raw_table(name, rows, readings, feed), columns, until, types) }}
{%- endmacro %}
