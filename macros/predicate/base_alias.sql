{#
    The name of the relation in the rules of a dataset.

    name      the dataset
    config    the document of secure_datasets_config()
#}
{% macro base_alias(name, config) %}
    {%- set ruling = secure_datasets.ruling_dataset(name, config) -%}
    {%- set dataset = config.datasets[ruling] -%}
    {{ return(secure_datasets.star_query(dataset, config).root if dataset.query is defined else ruling) }}
{% endmacro %}
