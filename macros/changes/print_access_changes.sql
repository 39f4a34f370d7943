{#
    Prints the result of a comparison of two states, as Markdown, and writes it to
    access_changes.md beside dbt's results.

    results  the results of on-run-end
#}
{% macro print_access_changes(results) %}
    {%- set built = results | selectattr('status', 'equalto', 'success') | map(attribute='node.name') | list -%}
    {%- if execute and var('before', none) is not none and 'row_changes' in built -%}
        {%- set facts, changes = secure_datasets._report_facts(), adapter.access_changes() -%}
        {% do adapter.write_result('access_changes.md', changes.markdown(facts)) %}
        {{ print(changes.in_short(facts).rstrip()) }}
    {%- endif -%}
{% endmacro %}


{# The facts of the report, with only as many rows as it shows. #}
{% macro _report_facts() %}
    {%- set changes, states = adapter.access_changes(), secure_datasets.states_compared() -%}
    {%- set limits = secure_datasets.limits_query({
        'limits': secure_datasets.relation_named('access_change_limits'), 'approvals': secure_datasets.relation_named('access_change_approvals'),
        'access_changes': secure_datasets.relation_named('access_changes'), 'row_changes': secure_datasets.relation_named('row_changes'),
    }, states) -%}
    {{ return(dict(
        changes.report_facts(secure_datasets.rows_of, secure_datasets.relation_named, [var('before') | lower, var('after') | lower]).facts(secure_datasets.repository_tables()),
        are_rows_compared=changes.has_datasets(states[0]) and changes.has_datasets(states[1]),
        not_there=changes.datasets_not_there(states), not_built=changes.not_built(states), columns=changes.other_columns(states),
        limits=secure_datasets.rows_of(limits ~ '\norder by limit_name'),
        limits_about_nothing=adapter.limits_about_nothing(var('before'), var('after'), changes.asked_of(graph.nodes, []).seeds),
    )) }}
{% endmacro %}
