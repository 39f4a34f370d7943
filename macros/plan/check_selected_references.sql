{# Before a run: check_references for each secure dataset that it selects. #}
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
