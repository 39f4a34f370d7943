{#
    The unique ids of the direct inputs of a node of dbt's graph; the inputs of an ephemeral model
    are its readers'.

    unique_id  the node
#}
{% macro nodes_read(unique_id) %}
    {%- set found = [] -%}
    {%- for parent in (graph.nodes[unique_id].get('depends_on') or {}).get('nodes', []) -%}
        {%- set node = graph.nodes.get(parent) -%}
        {%- if node and secure_datasets._object_type(node) is none -%}
            {% do found.extend(secure_datasets.nodes_read(parent)) %}
        {%- else -%}
            {% do found.append(parent) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found | unique | list) }}
{% endmacro %}
