{#
    The secure dataset that another one is declared over; none if its base is a model.

    dataset   the dataset's entry
#}
{% macro layer_below(dataset) %}
    {{ return(adapter.secure_datasets().layer_below(dataset)) }}
{% endmacro %}
