{#
    Called before anything starts: stops a run whose models read what it does not build and what is
    not there. With --defer dbt reads such relations elsewhere, and a comparison reads those of two
    states.
#}
{% macro check_built_before() %}
    {%- if execute and flags.INTROSPECT and not flags.DEFER and var('before', none) is none and flags.WHICH in ['build', 'run'] -%}
        {%- set missing = {} -%}
        {%- for unique_id, readers in adapter.secure_datasets().read_unbuilt(graph, selected_resources).items() -%}
            {%- set node = graph.nodes[unique_id] -%}
            {%- if not adapter.get_relation(node.database, node.schema, node.alias) -%}
                {% do missing.update({unique_id: readers}) %}
            {%- endif -%}
        {%- endfor -%}
        {% do adapter.secure_datasets().check_built_before(missing, graph.nodes, flags.WHICH) %}
    {%- endif -%}
{% endmacro %}
