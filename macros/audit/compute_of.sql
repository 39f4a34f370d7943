{# The compute that fills a stored table: its `meta.compute`, else the variable's. #}
{% macro compute_of(node) %}
    {{ return(node.config.get('meta', {}).get('compute', var('compute'))) }}
{% endmacro %}
