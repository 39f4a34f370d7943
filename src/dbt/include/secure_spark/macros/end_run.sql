{#
    Called after a run: does what `switch_tested` does; fails if a view does not show its new query, writes
    the published state as a file beside the versions, drops the versions that are no longer kept, and
    lets the next run begin. A warning names every further view that still shows the former rows and
    rights.

    results  the results of on-run-end
#}
{% macro end_run(results) %}
    {%- if execute -%}
        {%- set builds = flags.WHICH in ['build', 'run', 'seed'] -%}
        {%- do switch_tested(results) -%}
        {#- Before the drop of the versions that identify them, and while the run knows the views. -#}
        {%- set left = adapter.views_left_behind(graph, results) if builds else {} -%}
        {%- set strangers = adapter.views_without_model(graph) if builds else [] -%}
        {%- do adapter.end_run(results, graph) -%}
        {%- if left.not_run -%}
            {% do exceptions.warn('They were not run, so they still show the rows and rights of before: ' ~ left.not_run | join(', ') ~ '.') %}
        {%- endif -%}
        {%- if left.over_others -%}
            {% do exceptions.warn('They were run, and show what stands in brackets as it was before: ' ~ left.over_others | join(', ') ~ '.') %}
        {%- endif -%}
        {%- if strangers -%}
            {% do exceptions.warn(
                'No model of this project is called so any more, and they go on showing the rows and rights '
                'of their last run: ' ~ strangers | join(', ') ~ '. Drop them, but what another output of '
                'profiles.yml publishes.'
            ) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
