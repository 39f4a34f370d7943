{#
    The restrictive conditions of a dataset as one rule, before it is printed: whether each that
    is for a reader is true of a row. Nothing if the dataset has none.

    name    the dataset's name
    config  the document of secure_datasets_config()
#}
{% macro restrictive_rule(name, config) %}
    {{ return(adapter.rules_by_exists(secure_datasets, ref, config).restrictive_rule(name, secure_datasets.reader_placeholder())) }}
{% endmacro %}
