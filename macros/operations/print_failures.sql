{#
    Prints the rows that data tests found, so that a failure names them without a second
    command. Only for tests with the config `meta: {print_failures: true}`; with `explains` in it,
    `why` follows for the first rows with a user.

    results  the results of on-run-end
#}
{% macro print_failures(results) %}
    {%- for line in (adapter.failures(secure_datasets, ref, graph.nodes, results, run_query) if execute else []) -%}
        {{ print(line) }}
    {%- endfor -%}
{% endmacro %}
