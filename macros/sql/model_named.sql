{# A model of the graph by its name. #}
{% macro model_named(name) %}
    {{ return(graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') | selectattr('name', 'equalto', name) | first) }}
{% endmacro %}
