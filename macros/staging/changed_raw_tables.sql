{#
    The raw tables that hold other rows than those from which relations were made that are
    read now: by name, when that was and the newest load time then, both in microseconds
    since 1970. Empty where dbt may not ask the metastore.

    relations  stored relations
#}
{% macro changed_raw_tables(relations) %}
    {%- set changed = {} -%}
    {%- for raw in (adapter.changed_raw_tables(graph, relations) if execute and flags.INTROSPECT else []) -%}
        {%- set name = raw.table.split('.') | last -%}
        {%- set before = changed.get(name, raw) -%}
        {% do changed.update({name: {
            'read_at': [before.read_at, raw.read_at] | min,
            'newest': [before.newest or 0, raw.newest or 0] | min,
        }}) %}
    {%- endfor -%}
    {{ return(changed) }}
{% endmacro %}
