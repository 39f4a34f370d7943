{#
    Called before a command that builds relations. It fails beside a concurrent run; over the
    relations of a different metastore, or published by a different project or target; and for a build
    with only some of the rows over one with all rows. It removes the leftovers of killed runs.
#}
{% macro begin_run() %}
    {%- if execute and flags.WHICH in ['build', 'run', 'seed'] -%}
        {%- if var('publish_after_tests', false) -%}
            {%- do adapter.check_what_is_stored(graph) -%}
        {%- endif -%}
        {%- do adapter.check_file_formats(graph) -%}
        {%- do adapter.begin_run(*_parts_of_run()) -%}
    {%- endif -%}
{% endmacro %}


{#
    The arguments of the adapter's begin_run: the run's name, the seconds to watch its lock, the schemas
    that it builds, the schemas with stored relations, the models, the project, and the target's schema.
#}
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
