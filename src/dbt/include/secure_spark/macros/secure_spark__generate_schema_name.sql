{#
    dbt's own rule for schemas, spelled as the metastore spells it: there the case of letters
    makes no difference, and the versions of `Sales` are those of `sales`. A past state, `as_of`,
    has schemas of its own, called after the moment.
#}
{% macro secure_spark__generate_schema_name(custom_schema_name, node) -%}
    {%- set name = default__generate_schema_name(custom_schema_name, node) | trim -%}
    {{ adapter.schema_name(name, var('as_of', none), var('before', none), var('after', none)) }}
{%- endmacro %}
