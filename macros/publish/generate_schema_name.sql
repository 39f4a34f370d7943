{#
    A configured schema is taken as it stands, without the target's schema before it; and
    spelled as the metastore spells it, where the case of letters makes no difference. A past
    state, `as_of`, has schemas of its own, called after the moment.
#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ adapter.schema_name(custom_schema_name or target.schema, var('as_of', none)) }}
{%- endmacro %}
