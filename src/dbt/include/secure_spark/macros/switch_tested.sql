{#
    Called after a run, before hooks that read secure datasets: switches those whose data tests passed, if
    `vars: {publish_after_tests: true}` lets them wait. A relation that did not switch to the new state
    whole gets the status in `vars: {stayed: warn}`, warn or error. `end_run` does the same.

    results  the results of on-run-end
#}
{% macro switch_tested(results) %}
    {%- if execute -%}
        {%- do adapter.switch_tested(graph, results, var('stayed', 'warn')) -%}
    {%- endif -%}
{% endmacro %}
