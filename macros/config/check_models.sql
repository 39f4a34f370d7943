{#
    Called before anything starts: stops dbt if a root project has changed how the product's
    models are kept, as by `models: +materialized: table` for all, or has what secure datasets
    are made of read as it is latest, or grants those who read secure datasets what these are
    made of, or quotes names. Rows would be gone while they are rebuilt, rows and rights would no
    longer change together, readers would read around their rights, and no version would be found.
#}
{% macro check_models() %}
    {#- Where the product is the root, nobody else has a say. -#}
    {%- if execute and project_name != 'secure_datasets' -%}
        {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.package_name == 'secure_datasets' -%}
            {%- if '`' in (node.relation_name or '') -%}
                {{ exceptions.raise_compiler_error(
                    "The model '" ~ node.name ~ "' of secure_datasets would be called " ~ node.relation_name ~ ", and versions are found by"
                    ~ " names without backticks: take `quoting` out of dbt_project.yml."
                ) }}
            {%- endif -%}
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
        {%- set config, made_of, secure, readers = secure_datasets.secure_datasets_config(), [], [], [] -%}
        {%- set of_users = config.tiers.values() | map(attribute='access_view') | list -%}
        {%- for name, dataset in config.datasets.items() -%}
            {%- do secure.append('vw_secure_dataset_' ~ name) -%}
            {%- do made_of.append(dataset.base) if dataset.base is defined -%}
        {%- endfor -%}
        {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name in made_of + of_users and node.config.reads_latest -%}
            {{ exceptions.raise_compiler_error(
                "The model '" ~ node.name ~ "' has reads_latest: true, and a secure dataset is made of it, which shows rows and"
                ~ " rights of one state: take it away."
            ) }}
        {%- endfor -%}
        {%- do readers.extend((var('readers', []) or []) | map('lower')) -%}
        {%- do readers.extend((var('reader_applications', []) or []) | map('lower')) -%}
        {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name in secure -%}
            {%- do readers.extend((node.config.grants or {}).values() | sum(start=[]) | map('lower')) -%}
        {%- endfor -%}
        {#- Of everybody: what the product has beside what each user may read, and bases. -#}
        {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.name not in secure + of_users and (node.package_name == 'secure_datasets' or node.name in made_of) -%}
            {%- for role in (node.config.grants or {}).values() | sum(start=[]) if role | lower in readers -%}
                {{ exceptions.raise_compiler_error(
                    "'" ~ role ~ "' reads secure datasets and is granted '" ~ node.name
                    ~ "', which shows the rows of all users: let dbt_project.yml grant secure datasets and the tiers' access views alone."
                ) }}
            {%- endfor -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
