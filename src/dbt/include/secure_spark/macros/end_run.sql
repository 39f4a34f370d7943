{#
    Called after a run: drops the versions that are no longer kept, lets the next run begin,
    and names the views that show the rows and rights of before.

    results  the results of on-run-end
#}
{% macro end_run(results) %}
    {%- if execute -%}
        {%- set stayed = adapter.end_run() -%}
        {%- if flags.WHICH in ['build', 'run', 'seed'] -%}
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
    published latest is never behind, nor is one, of one state or not, whose seed is read so,
    nor a plain view over another one that was built, nor what is not there yet. One that was
    built over what is behind is told apart: it shows what else it reads as it is now.
    Of what stayed as it was, or failed, dbt has told by itself.
#}
{% macro _warn_of_views_left_behind(results, stayed) %}
    {%- set built = results | selectattr('status', 'equalto', 'success')
        | rejectattr('node.name', 'in', stayed)
        | map(attribute='node.unique_id') | list -%}
    {%- set told = results | selectattr('status', 'equalto', 'error') | map(attribute='node.name') | list + stayed -%}
    {%- set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model')
        | rejectattr('config.materialized', 'equalto', 'ephemeral') | list -%}
    {%- set views = models | selectattr('config.materialized', 'equalto', 'view') | list -%}
    {%- set of_views = views | map(attribute='unique_id') | list -%}
    {%- set of_one_state = views | selectattr('config.inline_views', 'equalto', true) | map(attribute='unique_id') | list -%}
    {%- set latest = graph.nodes.values() | selectattr('config.reads_latest', 'equalto', true) | list -%}
    {%- set stored = built | reject('in', of_views + latest | map(attribute='unique_id') | list) | list -%}
    {#- Of what is read as it is latest, a view of one state reads seeds alone so. -#}
    {%- set seeds = latest | selectattr('resource_type', 'equalto', 'seed') | map(attribute='unique_id') | list -%}
    {%- set states = built | reject('in', seeds) | list -%}
    {%- set parents = {} -%}
    {%- for node in models -%}
        {% do parents.update({node.unique_id: _parents_that_are_built(node)}) %}
    {%- endfor -%}
    {%- set behind, known = [], namespace(count=-1) -%}
    {# In whatever order the graph has them: until a round finds no more. #}
    {%- for _ in models if behind | length != known.count -%}
        {%- set known.count = behind | length -%}
        {%- for node in models if node.unique_id not in behind and not node.config.reads_latest -%}
            {%- set moved = [] if node.unique_id in built else states if node.unique_id in of_one_state
                else stored if node.unique_id in of_views else built -%}
            {%- if parents[node.unique_id] | select('in', moved + behind) | list -%}
                {% do behind.append(node.unique_id) %}
            {%- endif -%}
        {%- endfor -%}
    {%- endfor -%}
    {%- set not_run, over_others = [], [] -%}
    {%- for node in views | selectattr('unique_id', 'in', behind) | rejectattr('name', 'in', told) | sort(attribute='name') -%}
        {%- if node.unique_id in built -%}
            {%- set over = models | selectattr('unique_id', 'in', parents[node.unique_id])
                | selectattr('unique_id', 'in', behind) | map(attribute='name') | sort | join(', ') -%}
            {% do over_others.append(node.name ~ ' (' ~ over ~ ')') %}
        {%- elif adapter.get_relation(node.database, node.schema, node.alias) -%}
            {% do not_run.append(node.name) %}
        {%- endif -%}
    {%- endfor -%}
    {%- if not_run -%}
        {% do exceptions.warn('They were not run, so they still show the rows and rights of before: ' ~ not_run | join(', ') ~ '.') %}
    {%- endif -%}
    {%- if over_others -%}
        {% do exceptions.warn('They were run, and show what stands in brackets as it was before: ' ~ over_others | join(', ') ~ '.') %}
    {%- endif -%}
{% endmacro %}


{# What a model reads, and what the ephemeral ones among it read: these stand in its own query. #}
{% macro _parents_that_are_built(node) %}
    {%- set found = [] -%}
    {%- for unique_id in node.depends_on.nodes -%}
        {%- set parent = graph.nodes.get(unique_id) -%}
        {%- if parent and parent.config.materialized == 'ephemeral' -%}
            {% do found.extend(_parents_that_are_built(parent)) %}
        {%- else -%}
            {% do found.append(unique_id) %}
        {%- endif -%}
    {%- endfor -%}
    {{ return(found) }}
{% endmacro %}
