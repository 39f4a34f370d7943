{#
    Called before anything starts: stops dbt if a project has a model, seed, snapshot or source
    with a name of the product's, because the product could then read the wrong one.
#}
{% macro check_names() %}
    {%- if execute -%}
        {%- do secure_datasets.check_adapter() -%}
        {% do adapter.secure_datasets().check_names(graph.nodes, graph.sources) %}
    {%- endif -%}
{% endmacro %}
