{#
    The nodes of dbt's graph that conditions and masks look up. Every model that reads the document
    depends on them, even if its own query does not name them.

    config  the document of secure_datasets_config()
#}
{% macro nodes_of_rules(config) %}
    {%- set attributes = adapter.rules_by_exists(secure_datasets, ref, config).attributes -%}
    {{ return(adapter.secure_datasets().nodes_of_rules(config, attributes, graph.nodes if execute else {})) }}
{% endmacro %}
