{# The views under view authorization, their inputs, and the tables at the ends, as rows. Empty while dbt parses. #}
{% macro view_references() %}
    {{ return(adapter.secure_datasets().view_references(graph.nodes if execute else {}, graph.sources if execute else {})) }}
{% endmacro %}
