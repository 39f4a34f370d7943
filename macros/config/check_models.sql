{#
    Called before anything starts: stops dbt if a root project has changed how the product's
    models are kept, as by `models: +materialized: table` for all, or has what secure datasets
    are made of read as it is latest. Their rows would be gone while they are rebuilt, and rows
    and rights no longer change together.
#}
{% macro check_models() %}
    {#- Where the product is the root, nobody else has a say. -#}
    {%- if execute and project_name != 'secure_datasets' -%}
        {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.package_name == 'secure_datasets' -%}
            {%- set is_latest = node.fqn[1] == 'view_authorization' -%}
            {%- set kept = 'view' if is_latest or node.fqn[1] in ['secure', 'leaks', 'governance'] else 'published_view' -%}
            {%- set is_inlined = node.fqn[1] == 'secure' -%}
            {%- if node.config.materialized != kept or (node.config.reads_latest or false) != is_latest or (node.config.inline_views or false) != is_inlined -%}
                {{ exceptions.raise_compiler_error(
                    "The model '" ~ node.name ~ "' of secure_datasets is to be materialized: " ~ kept ~ ", reads_latest: "
                    ~ is_latest | lower ~ ", inline_views: " ~ is_inlined | lower ~ ", and dbt_project.yml says otherwise of it: let what it says of models stand under"
                    ~ " the name of your project."
                ) }}
            {%- endif -%}
        {%- endfor -%}
        {%- set config, made_of = secure_datasets.secure_datasets_config(), [] -%}
        {%- do made_of.extend(config.tiers.values() | map(attribute='access_view')) -%}
        {%- do made_of.extend(config.datasets.values() | selectattr('base', 'defined') | map(attribute='base')) -%}
        {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name in made_of and node.config.reads_latest -%}
            {{ exceptions.raise_compiler_error(
                "The model '" ~ node.name ~ "' has reads_latest: true, and a secure dataset is made of it, which shows rows and"
                ~ " rights of one state: take it away."
            ) }}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
