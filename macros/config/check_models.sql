{#
    Called before anything starts: stops dbt if a root project has changed how the product's
    models are kept, as by `models: +materialized: table` for all. Their rows would be gone
    while they are rebuilt, and rows and rights no longer change together.
#}
{% macro check_models() %}
    {%- if execute -%}
        {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.package_name == 'secure_datasets' -%}
            {%- set is_latest = node.fqn[1] == 'view_authorization' -%}
            {%- set kept = 'view' if is_latest or node.fqn[1] in ['secure', 'leaks'] else 'published_view' -%}
            {%- if node.config.materialized != kept or (node.config.reads_latest or false) != is_latest -%}
                {{ exceptions.raise_compiler_error(
                    "The model '" ~ node.name ~ "' of secure_datasets is to be materialized: " ~ kept ~ ", reads_latest: "
                    ~ is_latest | lower ~ ", and dbt_project.yml says otherwise of it: let what it says of models stand under"
                    ~ " the name of your project."
                ) }}
            {%- endif -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
