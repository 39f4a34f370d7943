{#
    The raw tables that stored relations were made from: a list of `table`, `read_at` and
    `newest`, in microseconds since 1970. Empty if dbt may not query the metastore.

    relations  stored relations
#}
{% macro raw_tables_of(relations) %}
    {{ return(adapter.raw_tables_of(graph, relations) if execute and flags.INTROSPECT else []) }}
{% endmacro %}
