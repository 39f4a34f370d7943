{#
    The secure dataset behind a dataset that is declared over it; none if the base is a model.

    dataset   the dataset's entry
#}
{% macro parent_dataset(dataset) %}
    {{ return(adapter.secure_datasets().parent_dataset(dataset)) }}
{% endmacro %}
