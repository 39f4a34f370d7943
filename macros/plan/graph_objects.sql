{#
    The relations that dbt builds or reads, as its graph knows them. Needs no Spark: the
    graph is there whenever dbt compiles, and is empty while it parses.

    Returns  for each node's unique id:
        node           dbt's node
        name           the relation, <schema>.<name>; none for an ephemeral model
        object_type    TABLE for a source or a seed, VIEW for a model that stores nothing,
                       STORED TABLE for a model that stores rows and for a snapshot; none for
                       an ephemeral model
        reads          the unique ids of its direct inputs; the inputs of an ephemeral
                       model are its readers'
#}
{% macro graph_objects() %}
    {%- set objects = {} -%}
    {%- if execute -%}
        {%- for node in graph.sources.values() -%}
            {% do objects.update({node.unique_id: {
                'node': node, 'name': node.schema ~ '.' ~ node.identifier,
                'object_type': 'TABLE', 'reads': [],
            }}) %}
        {%- endfor -%}
        {%- for node in graph.nodes.values() if node.resource_type in ['model', 'seed', 'snapshot'] -%}
            {%- set object_type = secure_datasets._object_type(node) -%}
            {% do objects.update({node.unique_id: {
                'node': node, 'name': node.schema ~ '.' ~ node.alias if object_type,
                'object_type': object_type, 'reads': secure_datasets.nodes_read(node.unique_id),
            }}) %}
        {%- endfor -%}
    {%- endif -%}
    {{ return(objects) }}
{% endmacro %}


{# The object type for privileges and view authorization; none for an ephemeral model. #}
{% macro _object_type(node) %}
    {%- if node.resource_type == 'seed' -%}
        {{ return('TABLE') }}
    {%- elif node.config.materialized == 'ephemeral' -%}
        {{ return(none) }}
    {%- elif node.config.materialized == 'view' -%}
        {{ return('VIEW') }}
    {%- endif -%}
    {{ return('STORED TABLE') }}
{% endmacro %}
