{#
    The version of a staged table that the present one replaced, and the time of that: `version` and `since`.
    None if the feed of the table is not of the kind `current`, whose deleted rows are only missing.

    name  the raw table
#}
{% macro version_before(name) %}
    {%- set feed = secure_datasets.feed_of(name) -%}
    {%- if not execute or not flags.INTROSPECT or not feed or feed.kind != 'current' -%}
        {{ return(none) }}
    {%- endif -%}
    {%- set node = secure_datasets.model_named('stg_' ~ name) -%}
    {{ return(adapter.version_before(node.schema, node.alias)) }}
{% endmacro %}
