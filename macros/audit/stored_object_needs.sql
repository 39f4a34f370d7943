{#
    The objects on which an operation on a stored table can need a privilege: the matrix in the seed
    privilege_requirements joins these rows.

    only     the unique ids of the stored tables; none for all

    Returns  rows of the stored table's name, the place by its name in the matrix (`needed_on`),
             and type and name of the object in that place
#}
{% macro stored_object_needs(only=none) %}
    {%- set objects = secure_datasets.graph_objects() -%}
    {%- set rows = [] -%}
    {%- for unique_id, object in objects.items() if object.object_type == 'STORED TABLE' and (only is none or unique_id in only) -%}
        {%- set node = object.node -%}
        {% do rows.append([object.name, 'itself', object.object_type, object.name]) %}
        {% do rows.append([object.name, 'compute', 'COMPUTE', secure_datasets.compute_of(node)]) %}
        {% do rows.extend(secure_datasets._places(object.name, node, '')) %}
        {%- for parent in object.reads if parent in objects -%}
            {%- set read = objects[parent] -%}
            {%- set place = 'stored table read' if read.object_type == 'STORED TABLE' else 'table read' -%}
            {% do rows.append([object.name, place, read.object_type, read.name]) %}
            {% do rows.extend(secure_datasets._places(object.name, read.node, ' read')) %}
        {%- endfor -%}
        {%- for upstream in secure_datasets._stored_upstream(unique_id, objects, []) -%}
            {% do rows.append([object.name, 'stored table upstream', 'STORED TABLE', upstream]) %}
        {%- endfor -%}
    {%- endfor -%}
    {{ return(rows) }}
{% endmacro %}


{# Database and schema of a node, as places. #}
{% macro _places(object_name, node, suffix) %}
    {{ return([
        [object_name, 'database' ~ suffix, 'DATABASE', node.database or 'spark_catalog'],
        [object_name, 'schema' ~ suffix, 'SCHEMA', node.schema],
    ]) }}
{% endmacro %}


{# The names of the stored tables upstream, at any distance, each once. #}
{% macro _stored_upstream(unique_id, objects, found) %}
    {%- for parent in objects[unique_id].reads if parent in objects and parent not in found -%}
        {% do found.append(parent) %}
        {% do secure_datasets._stored_upstream(parent, objects, found) %}
    {%- endfor -%}
    {%- set names = [] -%}
    {%- for parent in found if objects[parent].object_type == 'STORED TABLE' -%}
        {% do names.append(objects[parent].name) %}
    {%- endfor -%}
    {{ return(names) }}
{% endmacro %}
