{#
    The secure dataset that another one is declared over; none if its base is a model.

    dataset   the dataset's entry
#}
{% macro layer_below(dataset) %}
    {%- set prefix = 'vw_secure_dataset_' -%}
    {%- if dataset.base is string and dataset.base.startswith(prefix) -%}
        {{ return(dataset.base[prefix | length:]) }}
    {%- endif -%}
    {{ return(none) }}
{% endmacro %}
