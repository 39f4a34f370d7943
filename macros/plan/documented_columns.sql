{# By model and seed, the columns with a documented reference, each with its `meta`. #}
{% macro documented_columns() %}
    {{ return(adapter.secure_datasets().documented_columns(graph.nodes)) }}
{% endmacro %}
