{#
    Renders the deliveries that do not count, in the raw tables that give rights or lead to some: one row per
    delivery, with the reason.

    table   restricts the query to a raw table: it reads no other, and leaves out live rows that name something
            not live
#}
{% macro uncounted_deliveries_query(table=none) -%}
{{ adapter.uncounted_deliveries(secure_datasets, secure_datasets.relation_named if table else ref, {
    'config': secure_datasets.secure_datasets_config(),
    'tables': secure_datasets.repository_tables(),
    'as_of': var('as_of', none),
}, table) }}
{%- endmacro %}
