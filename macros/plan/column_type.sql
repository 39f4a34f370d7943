{# A column's documented type: the base's or, for a query, the secure dataset's own. #}
{% macro column_type(name, dataset, column) %}
    {%- if not execute -%}
        {# While dbt parses it does not know every model yet. #}
        {{ return('string') }}
    {%- endif -%}
    {%- set model = dataset.base or 'vw_secure_dataset_' ~ name -%}
    {#- Not from the graph: a unit test has none. -#}
    {%- set type = adapter.secure_datasets().column_type(model, column) -%}
    {%- if type -%}
        {{ return(type) }}
    {%- endif -%}
    {% do secure_datasets.config_error("mask on '" ~ name ~ '.' ~ column ~ "'", "the documentation of '" ~ model ~ "' does not say the column's data_type, which a mask must have") %}
{% endmacro %}
