{#
    The raw tables whose rows changed since the build of the given relations: by name, the time of
    that read and the newest load time then, both in microseconds since 1970; the time of the read
    for both, if no load time is known. Empty if dbt may not query the metastore.

    relations  stored relations
#}
{% macro changed_raw_tables(relations) %}
    {%- set changed = {} -%}
    {%- for raw in (adapter.changed_raw_tables(graph, relations) if execute and flags.INTROSPECT else []) -%}
        {%- set name = raw.table.split('.') | last -%}
        {%- set before = changed.get(name, raw) -%}
        {% do changed.update({name: {
            'read_at': [before.read_at, raw.read_at] | min,
            'newest': [before.newest or before.read_at, raw.newest or raw.read_at] | min,
        }}) %}
    {%- endfor -%}
    {{ return(changed) }}
{% endmacro %}
