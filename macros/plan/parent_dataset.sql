{#
    The secure dataset that another one is declared over; none if its base is a model.

    dataset   the dataset's entry
#}
{% macro parent_dataset(dataset) %}
    {{ return(adapter.secure_datasets().parent_dataset(dataset)) }}
{% endmacro %}
