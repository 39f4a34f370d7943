{#
    Prints the objects that one user sees, per tier, with the kinds of path that lead there; the number
    of rows in each secure dataset; and the rows and columns that each policy shows, hides or masks.

    Call   dbt run-operation who --args '{user: hpark}'
    user   a user's id, login name or e-mail address
#}
{% macro who(user) %}
    {%- set given = {
        'nodes': graph.nodes, 'as_of': var('as_of', none), 'has_schema': adapter.check_schema_exists,
        'run_query': run_query, 'print': print,
    } -%}
    {% do adapter.access_questions().who(user, given, secure_datasets, ref) %}
{% endmacro %}
