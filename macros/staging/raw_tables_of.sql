{#
    From which raw tables stored relations were made: a list of `table`, `read_at` and
    `newest`, in microseconds since 1970. Empty where dbt may not ask the metastore.

    relations  stored relations
#}
{% macro raw_tables_of(relations) %}
    {{ return(adapter.raw_tables_of(graph, relations) if execute and flags.INTROSPECT else []) }}
{% endmacro %}
