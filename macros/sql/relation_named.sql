{# A model's or seed's relation. An operation belongs to no group, so ref() would refuse it some. #}
{% macro relation_named(name) -%}
    {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed']) -%}
    {{ return((nodes | selectattr('name', 'equalto', name) | first).relation_name) }}
{%- endmacro %}
