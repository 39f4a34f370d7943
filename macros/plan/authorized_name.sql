{#
    What decisions call a relation: its name in dbt, a source's with the source before it, in
    lower case.
#}
{% macro authorized_name(node) %}
    {{ return((node.source_name ~ '.' ~ node.name if node.resource_type == 'source' else node.name) | lower) }}
{% endmacro %}
