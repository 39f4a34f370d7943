{#
    The dataset whose rows and rules a dataset shows: under view authorization the lowest
    of the secure datasets below it, because rules act at the tables, through the whole
    chain of views. Without view authorization a dataset is its own end.

    name      the dataset
    config    the document of secure_datasets_config()
#}
{% macro ruling_dataset(name, config) %}
    {{ return(adapter.secure_datasets().ruling_dataset(name, config)) }}
{% endmacro %}
