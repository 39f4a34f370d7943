{# The views under view authorization, their inputs, and the tables at the ends, as rows. Empty while dbt parses. #}
{% macro view_references() %}
    {%- do secure_datasets.check_adapter() -%}
    {{ return(adapter.secure_datasets().view_references(graph.nodes if execute else {}, graph.sources if execute else {})) }}
{% endmacro %}
