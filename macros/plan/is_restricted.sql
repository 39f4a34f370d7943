{#
    Whether a dataset has rules beyond its tier: view authorization, row security or policies.
    These depend on the user, so all its rows have one.

    name      the dataset
    config    the document of secure_datasets_config()
#}
{% macro is_restricted(name, config) %}
    {%- set policies = secure_datasets.policies_on(name, config) -%}
    {%- set ruling_entry = config.datasets[secure_datasets.ruling_dataset(name, config)] -%}
    {{ return(policies.is_authorized or (policies.conditions + policies.restrictive + policies.masks | list + secure_datasets.restrictions_on(ruling_entry, config)) | length > 0) }}
{% endmacro %}
