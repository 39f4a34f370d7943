{# A column's documented type: the base's or, for a query, the secure dataset's own. #}
{% macro column_type(name, dataset, column) %}
    {#- While dbt parses it does not know every model yet. -#}
    {{ return(adapter.secure_datasets().type_of_mask(name, dataset, column) if execute else 'string') }}
{% endmacro %}
