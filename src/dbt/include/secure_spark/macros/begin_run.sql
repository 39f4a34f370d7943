{#
    Called before whatever builds a relation: refuses to run beside another run, over what
    another metastore keeps or another project or target has published, or with only some of
    the rows over all of them; and clears away what runs that were killed have left behind.
#}
{% macro begin_run() %}
    {%- if execute and flags.WHICH in ['build', 'run', 'seed'] -%}
        {%- do adapter.check_file_formats(graph) -%}
        {%- do adapter.begin_run(*_parts_of_run()) -%}
    {%- endif -%}
{% endmacro %}


{# What a run is called, how long it is watched, the schemas that it builds, for which project and which target. #}
{% macro _parts_of_run() %}
    {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed']) | list -%}
    {%- set stored = nodes | selectattr('config.materialized', 'in', ['published_view', 'seed']) -%}
    {%- set models = [] -%}
    {%- for node in nodes if node.resource_type == 'model' -%}
        {%- do models.append(node.schema ~ '.' ~ node.alias) -%}
    {%- endfor -%}
    {{ return([
        run_name(),
        var("run_lock_seconds", 20),
        nodes | map(attribute='schema') | list + [project_schema()],
        stored | map(attribute='schema') | list,
        models,
        project_name,
        project_schema(),
    ]) }}
{% endmacro %}
