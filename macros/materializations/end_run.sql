{#
    Called after a run: drops the versions that are no longer kept, and lets the next run
    begin.

    results  the results of on-run-end
#}
{% macro end_run(results) %}
    {%- if execute and flags.WHICH in ['build', 'clone', 'retry', 'run', 'seed'] -%}
        {%- do drop_unnamed_versions() -%}
        {%- do _warn_of_views_left_behind(results) -%}
        {%- do adapter.release_run_lock() -%}
    {%- endif -%}
{% endmacro %}


{# A view reads its versions by name, so rows built without it are not seen through it. #}
{% macro _warn_of_views_left_behind(results) %}
    {%- set built = results | selectattr('status', 'equalto', 'success')
        | map(attribute='node.unique_id') | list -%}
    {%- set behind = [] -%}
    {%- for node in graph.nodes.values() if node.config.materialized == 'view' and node.unique_id not in built -%}
        {%- if node.depends_on.nodes | select('in', built) | list -%}
            {% do behind.append(node.name) %}
        {%- endif -%}
    {%- endfor -%}
    {%- if behind -%}
        {% do exceptions.warn(
            'Not run, so they still show the rows and rights of before: '
            ~ behind | sort | join(', ') ~ '.'
        ) %}
    {%- endif -%}
{% endmacro %}
