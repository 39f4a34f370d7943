{#
    The columns of a secure dataset after user_id, which its tier carries.

    dataset   the dataset's entry
    config    the document of secure_datasets_config()
#}
{% macro tier_columns(dataset, config) %}
    {{ return(adapter.secure_datasets().tier_columns(dataset, config)) }}
{% endmacro %}
