{#
    Before a run: stops dbt at all keys of the selected secure datasets that contradict the
    documentation of their bases. While dbt parses it knows no documentation.
#}
{% macro check_selected_references() %}
    {%- if execute -%}
        {%- set config, datasets = secure_datasets.secure_datasets_config(), adapter.secure_datasets() -%}
        {% do datasets.check_references(
            datasets.selected(config, graph.nodes, selected_resources), config, graph.nodes, secure_datasets.repository_tables()
        ) %}
    {%- endif -%}
{% endmacro %}
