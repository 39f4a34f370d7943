{# What operations on stored tables ask for, and what each role holds, as queries and rows. No needs while dbt parses. #}
{% macro privileges() %}
    {{ return(adapter.privileges(ref, graph.nodes if execute else {}, graph.sources if execute else {}, var('compute'))) }}
{% endmacro %}
