{#
    Whether a secure dataset has rows for everyone, without a user. A restricted dataset has
    none.

    name      the dataset
    config    the document of secure_datasets_config()
#}
{% macro has_public_rows(name, config) %}
    {%- set dataset = config.datasets[name] -%}
    {%- if secure_datasets.is_restricted(name, config) -%}
        {{ return(false) }}
    {%- endif -%}
    {%- if secure_datasets.parent_dataset(dataset) -%}
        {{ return(secure_datasets.has_public_rows(secure_datasets.parent_dataset(dataset), config)) }}
    {%- endif -%}
    {%- set cases = dataset.switch.cases.values() | list if dataset.switch is defined else [dataset] -%}
    {{ return(cases | selectattr('visible_to', 'defined') | list | length > 0) }}
{% endmacro %}
