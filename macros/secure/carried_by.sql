{#
    The columns that a secure dataset has after user_id: those that its tier carries.

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro carried_by(dataset, config) %}
    {%- if layer_below(dataset) -%}
        {{ return(carried_by(config.datasets[layer_below(dataset)], config)) }}
    {%- endif -%}
    {%- if dataset.switch is defined -%}
        {%- set rules = dataset.switch.cases.values() | selectattr('tier', 'defined') | list -%}
        {{ return(config.tiers[rules[0].tier].carries) }}
    {%- endif -%}
    {{ return(config.tiers[dataset.tier].carries if dataset.tier is defined else []) }}
{% endmacro %}
