{#
    dbt's own rule for schemas, in the metastore's spelling: there the case of letters makes no
    difference, and `Sales` and `sales` have the same versions. A past state, `as_of`, has schemas of
    its own, named after the moment.
#}
{% macro secure_spark__generate_schema_name(custom_schema_name, node) -%}
    {%- set name = default__generate_schema_name(custom_schema_name, node) | trim -%}
    {{ adapter.schema_name(name, var('as_of', none), var('before', none), var('after', none)) }}
{%- endmacro %}
