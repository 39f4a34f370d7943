{#
    Called after a run: drops the versions that are no longer kept, lets the next run begin,
    and names the views that show the rows and rights of before.

    results  the results of on-run-end
#}
{% macro end_run(results) %}
    {%- if execute -%}
        {%- set stayed = adapter.end_run() -%}
        {%- if flags.WHICH in ['build', 'run'] -%}
            {%- do _warn_of_views_left_behind(results, stayed) -%}
            {%- set strangers = adapter.views_without_model(graph) -%}
            {%- if strangers -%}
                {% do exceptions.warn(
                    'No model of this project is called so any more, and they go on showing the rows and rights '
                    'of their last run: ' ~ strangers | join(', ') ~ '. Drop them, but what another output of '
                    'profiles.yml publishes.'
                ) %}
            {%- endif -%}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}


{#
    A view reads its versions by name, so rows built without it are not seen through it;
    nor are those which something between was not built from. One that reads what is
    published latest is never behind. One that was built over what was not is told apart: it
    shows what else it reads as it is now.
#}
{% macro _warn_of_views_left_behind(results, stayed) %}
    {%- set built = results | selectattr('status', 'equalto', 'success')
        | rejectattr('node.name', 'in', stayed)
        | map(attribute='node.unique_id') | list -%}
    {%- set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') | list -%}
    {%- set behind, known = [], namespace(count=-1) -%}
    {# In whatever order the graph has them: until a round finds no more. #}
    {%- for _ in models if behind | length != known.count -%}
        {%- set known.count = behind | length -%}
        {%- for node in models if node.unique_id not in behind and not node.config.reads_latest -%}
            {%- set moved = [] if node.unique_id in built else built -%}
            {%- if node.depends_on.nodes | select('in', moved + behind) | list -%}
                {% do behind.append(node.unique_id) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set not_run, over_others = [], [] -%}
    {%- for node in models | selectattr('unique_id', 'in', behind)
        | selectattr('config.materialized', 'equalto', 'view') | sort(attribute='name') -%}
        {%- if node.unique_id in built -%}
            {%- set parents = models | selectattr('unique_id', 'in', node.depends_on.nodes)
                | selectattr('unique_id', 'in', behind) | map(attribute='name') | sort | join(', ') -%}
            {% do over_others.append(node.name ~ ' (' ~ parents ~ ')') %}
        {%- else -%}
            {% do not_run.append(node.name) %}
        {%- endif -%}
    {%- endfor -%}
    {%- if not_run -%}
        {% do exceptions.warn('They were not run, so they still show the rows and rights of before: ' ~ not_run | join(', ') ~ '.') %}
    {%- endif -%}
    {%- if over_others -%}
        {% do exceptions.warn(
            'They were run, but what stands in brackets was not, or reads what was not, and they show that as it was before: '
            ~ over_others | join(', ') ~ '.'
        ) %}
    {%- endif -%}
{% endmacro %}
