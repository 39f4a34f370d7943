{#
    Called after a run, before versions are dropped: notes which versions of the staged tables
    have passed keeps_most_ids, for the comparison in the next run.

    results  the results of on-run-end
#}
{% macro accept_versions(results) %}
    {%- if execute -%}
        {% do adapter.accepted_ids(graph.nodes, api.Relation.create, project_schema(), secure_datasets.reads_sample()).accept(
            results, secure_datasets.repository_tables(), hold_run, run_query, exceptions.warn
        ) %}
    {%- endif -%}
{% endmacro %}
