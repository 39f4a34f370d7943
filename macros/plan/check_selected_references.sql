{# Before a run: check_references for each secure dataset that it selects. #}
{% macro check_selected_references() %}
    {%- if execute -%}
        {%- set config = secure_datasets.secure_datasets_config() -%}
        {% do secure_datasets.check_references(adapter.secure_datasets().selected(config, graph.nodes, selected_resources), config) %}
    {%- endif -%}
{% endmacro %}
