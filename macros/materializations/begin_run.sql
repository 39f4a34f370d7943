{#
    Called before whatever builds a relation: makes the versions' schemas, refuses to run
    beside another run, and clears away what runs that were killed have left behind.
#}
{% macro begin_run() %}
    {%- if execute and flags.WHICH in ['build', 'clone', 'retry', 'run', 'seed'] -%}
        {%- do adapter.check_session() -%}
        {%- for schema in published_schemas() -%}
            {%- do run_query('create schema if not exists ' ~ versions_schema(schema)) -%}
        {%- endfor -%}
        {%- do adapter.hold_run_lock(
            versions_schema(target.schema),
            run_started_at.strftime('%Y%m%d%H%M%S') ~ '_' ~ invocation_id[:8],
            var("run_lock_seconds", 20),
        ) -%}
        {%- do drop_unnamed_versions() -%}
        {%- for schema in published_schemas() -%}
            {%- do adapter.remove_unnamed_folders(versions_schema(schema)) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
