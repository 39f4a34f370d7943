{#
    The configured schema, without the target's schema before it, in the metastore's spelling, where
    the case of letters makes no difference. A past state, `as_of`, has schemas of its own, named after
    the moment.

    dbt calls this for each node while it parses, so the macro also checks the adapter.
#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {%- do secure_datasets.check_adapter() -%}
    {{ adapter.schema_name(custom_schema_name or target.schema, var('as_of', none), var('before', none), var('after', none)) }}
{%- endmacro %}
