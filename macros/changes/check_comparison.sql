{# Called before anything starts: stops dbt if `before` and `after` name states that can't be compared. #}
{% macro check_comparison() %}
    {%- set before, after = var('before', none), var('after', none) -%}
    {%- if execute and (before is not none or after is not none) -%}
        {%- set schemas, others = {}, [] -%}
        {%- for unique_id, node in graph.nodes.items() if node.resource_type in ['model', 'seed', 'snapshot'] -%}
            {% do schemas.update({node.name: node.schema}) %}
            {%- if unique_id in selected_resources and 'access_changes' not in node.tags -%}
                {% do others.append(node.name) %}
            {%- endif -%}
        {%- endfor -%}
        {%- set unloaded = [] -%}
        {%- for node in graph.nodes.values() if node.resource_type == 'seed' and node.name in secure_datasets._names_of_seeds() and 'access_changes' not in node.tags -%}
            {% do unloaded.append(node.name) %}
        {%- endfor -%}
        {% do adapter.check_comparison(before, after, schemas, others, secure_datasets._seeds_of_changes(), var('limits_are_of_base'), unloaded) %}
    {%- endif -%}
{% endmacro %}


{# The names and files of the seeds that hold limits and approvals. #}
{% macro _seeds_of_changes() %}
    {%- set seeds = [] -%}
    {%- for node in graph.nodes.values() if node.resource_type == 'seed' and node.name in secure_datasets._names_of_seeds() -%}
        {% do seeds.append([node.name, node.root_path ~ '/' ~ node.original_file_path]) %}
    {%- endfor -%}
    {{ return(seeds) }}
{% endmacro %}


{# The names of the seeds with limits and approvals. #}
{% macro _names_of_seeds() %}
    {{ return(['access_change_limits', 'access_change_approvals']) }}
{% endmacro %}
