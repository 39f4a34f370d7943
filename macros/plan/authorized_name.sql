{#
    The name of a relation in decisions: its name in dbt, in lower case; for a source, with the
    source's name before it.
#}
{% macro authorized_name(node) %}
    {{ return((node.source_name ~ '.' ~ node.name if node.resource_type == 'source' else node.name) | lower) }}
{% endmacro %}
