{#
    Prints the result of a comparison of two states, as Markdown, and writes it to
    access_changes.md beside dbt's results.

    results  the results of on-run-end
#}
{% macro print_access_changes(results) %}
    {%- set built = results | selectattr('status', 'equalto', 'success') | map(attribute='node.name') | list -%}
    {%- if execute and var('before', none) is not none and 'row_changes' in built -%}
        {%- set facts = adapter.report_facts(secure_datasets, graph.nodes, var('before'), var('after')) -%}
        {%- set changes = adapter.access_changes() -%}
        {% do adapter.write_result('access_changes.md', changes.markdown(facts)) %}
        {{ print(changes.in_short(facts).rstrip()) }}
    {%- endif -%}
{% endmacro %}
