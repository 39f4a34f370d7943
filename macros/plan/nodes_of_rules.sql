{#
    The nodes of dbt's graph that conditions and masks look up. Every model that reads the document
    depends on them, even if its own query does not name them.

    config  the document of secure_datasets_config()
#}
{% macro nodes_of_rules(config) %}
    {%- set texts, found = [adapter.rules_by_exists(secure_datasets, ref, config).attributes], [] -%}
    {%- for policy in config.policies or [] -%}
        {%- do texts.extend(adapter.secure_datasets().expressions_of(policy)) -%}
    {%- endfor -%}
    {%- set text = texts | join(' ') -%}
    {%- for node in (graph.nodes if execute else {}).values() if node.get('relation_name') and node.relation_name in text -%}
        {%- do found.append(node) -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
