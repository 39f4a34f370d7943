{#
    A configured schema is taken as it stands, without the target's schema before it; and
    spelled as the metastore spells it, where the case of letters makes no difference. A past
    state, `as_of`, has schemas of its own, called after the moment.

    dbt asks for the schema of each node while it parses, so the adapter is checked here.
#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {%- do secure_datasets.check_adapter() -%}
    {{ adapter.schema_name(custom_schema_name or target.schema, var('as_of', none), var('before', none), var('after', none)) }}
{%- endmacro %}
