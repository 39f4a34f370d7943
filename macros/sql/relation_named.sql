{# A model's or seed's relation. An operation belongs to no group, so ref() would refuse it some. #}
{% macro relation_named(name) -%}
    {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed']) -%}
    {%- set relation = nodes | selectattr('name', 'equalto', name) | map(attribute='relation_name') | first | default(none) -%}
    {%- if relation is none -%}
        {% do exceptions.raise_compiler_error('the project has no relation ' ~ name) %}
    {%- endif -%}
    {{ return(relation) }}
{%- endmacro %}
