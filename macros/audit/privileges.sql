{# What operations on stored tables ask for, and what each role holds, as queries and rows. No needs while dbt parses. #}
{% macro privileges() %}
    {%- do secure_datasets.check_adapter() -%}
    {{ return(adapter.privileges(ref, graph.nodes if execute else {}, graph.sources if execute else {}, var('compute'))) }}
{% endmacro %}
