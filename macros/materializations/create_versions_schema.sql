{# The versions' schemas of all schemas in use; called before whatever builds a relation. #}
{% macro create_versions_schema() %}
    {%- if execute and flags.WHICH in ['build', 'clone', 'retry', 'run', 'seed'] -%}
        {%- for schema in [target.schema, var('sample_schema')] -%}
            {%- do run_query('create schema if not exists ' ~ versions_schema(schema)) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
