{#
    The views under view authorization, which are those with an owner in their config
    (`meta: {owner_user_id: 12}`), and what they come to read. From dbt's graph.

    Returns
        views   rows of view
        gates   rows of view, owner, object: each view of the chain by which the view comes
                to its rows, itself included, with what it reads directly; the owner is none
                where that view of the chain has none
        tables  rows of view, table: the ends of its chains, where rows are stored
#}
{% macro view_references() %}
    {%- set objects = graph_objects() -%}
    {%- set views, gates, tables = [], [], [] -%}
    {%- for unique_id, object in objects.items() if object.object_type == 'VIEW' and _owner_of(object.node) -%}
        {%- set name = authorized_name(object.node) -%}
        {% do views.append([name]) %}
        {%- for link in _chain_of_views(unique_id, objects, [unique_id]) -%}
            {%- for parent in objects[link].reads if parent in objects -%}
                {%- set read = authorized_name(objects[parent].node) -%}
                {% do gates.append([name, _owner_of(objects[link].node), read]) %}
                {%- if objects[parent].object_type != 'VIEW' and [name, read] not in tables -%}
                    {% do tables.append([name, read]) %}
                {%- endif -%}
            {%- endfor -%}
        {%- endfor -%}
    {%- endfor -%}
    {{ return({'views': views, 'gates': gates, 'tables': tables}) }}
{% endmacro %}


{# A view and the views behind it, at any distance. #}
{% macro _chain_of_views(unique_id, objects, found) %}
    {%- for parent in objects[unique_id].reads if parent in objects and objects[parent].object_type == 'VIEW' and parent not in found -%}
        {% do found.append(parent) %}
        {% do _chain_of_views(parent, objects, found) %}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# The user id of a model's owner as text; none without one. #}
{% macro _owner_of(node) %}
    {%- set owner = node.config.get('meta', {}).get('owner_user_id') -%}
    {%- if owner is not none and owner is not integer -%}
        {{ exceptions.raise_compiler_error(
            "owner_user_id of '" ~ node.name ~ "' is " ~ owner ~ '; it must be a user id.'
        ) }}
    {%- endif -%}
    {{ return(none if owner is none else owner | string) }}
{% endmacro %}
