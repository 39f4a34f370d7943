{#
    Stops dbt at all keys of datasets that are other ones than the documentation of their bases
    says: see src/secure_datasets/config/references.py.

    Called where a secure dataset is compiled, and before a run for all that it selects: while dbt
    parses it knows no documentation.

    names     the datasets
    config    the document of secure_datasets_config()
#}
{% macro check_references(names, config) %}
    {% do adapter.secure_datasets().check_references(names, config, graph.nodes, secure_datasets.repository_tables()) %}
{% endmacro %}


{# Before a run: the same for each secure dataset that it selects. #}
{% macro check_selected_references() %}
    {%- if execute -%}
        {%- set config, names = secure_datasets.secure_datasets_config(), [] -%}
        {%- for id in selected_resources if graph.nodes.get(id, {}).name in secure_datasets._models_of_datasets(config) -%}
            {% do names.append(secure_datasets._models_of_datasets(config)[graph.nodes[id].name]) %}
        {%- endfor -%}
        {% do secure_datasets.check_references(names, config) %}
    {%- endif -%}
{% endmacro %}


{# The datasets of the config by the models that show them. #}
{% macro _models_of_datasets(config) %}
    {%- set found = {} -%}
    {%- for name in config.datasets -%}
        {% do found.update({'vw_secure_dataset_' ~ name: name}) %}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}


{# By model and seed, the columns that say what they refer to, with their `meta`. #}
{% macro _documented_columns() %}
    {{ return(adapter.secure_datasets().documented_columns(graph.nodes)) }}
{% endmacro %}
