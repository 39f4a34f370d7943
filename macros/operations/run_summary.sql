{#
    Prints the relations that a run published: name, rows, distinct users, seconds, and a note on the
    seconds if models run side by side. Reads each published relation once; `vars: {summary: false}`
    turns it off if that costs too much. With `as_of` it first prints the moment and the schema of the
    past state, and the number of its deliveries.

    results  the results of on-run-end
#}
{% macro run_summary(results) %}
    {%- if execute and flags.WHICH in ['run', 'build'] and var('summary') -%}
        {%- set run = {'as_of': var('as_of', none), 'schema': project_schema(), 'threads': target.threads} -%}
        {%- for line in adapter.run_summary(secure_datasets, results, run, run_query) -%}
            {{ print(line) }}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
