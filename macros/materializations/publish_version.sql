{#
    Points a view at a new version of its rows, and drops the versions that the config no
    longer keeps.

    target_relation  the view that readers know
    version          the table to publish, named by version_relation()
#}
{% macro publish_version(target_relation, version) %}
    {%- set old_relation = load_cached_relation(this) -%}
    {%- if old_relation is not none and not old_relation.is_view -%}
        {# A table of this name was made by something else than this materialization. #}
        {% do adapter.drop_relation(old_relation) %}
    {%- endif -%}
    {%- call statement('publish_version') -%}
        create or replace view {{ target_relation }}
        {{ comment_clause() }}
        as select * from {{ version }}
    {%- endcall -%}
    {% do _drop_old_versions(target_relation, version) %}
{% endmacro %}


{# The schema of the versions; readers need the views' schema only. #}
{% macro versions_schema(schema) -%}
    {{ return(schema ~ '_versions') }}
{%- endmacro %}


{# A new version's table: sorts by the start of the run, and is this run's alone. #}
{% macro version_relation(relation) -%}
    {%- set identifier = _version_prefix(relation)
        ~ run_started_at.strftime('%Y%m%d%H%M%S') ~ '_' ~ invocation_id[:8] -%}
    {{ return(api.Relation.create(
        schema=versions_schema(relation.schema), identifier=identifier, type='table'
    )) }}
{%- endmacro %}


{% macro _version_prefix(relation) -%}
    {{ return(relation.identifier ~ '__v') }}
{%- endmacro %}


{% macro _drop_old_versions(target_relation, version) %}
    {%- set to_keep = config.get('versions_to_keep', 2) -%}
    {%- if to_keep is not integer or to_keep < 1 -%}
        {{ exceptions.raise_compiler_error(
            "published_view: versions_to_keep of '" ~ model.name ~ "' is " ~ to_keep
            ~ "; it must be a whole number from 1 on."
        ) }}
    {%- endif -%}
    {%- set prefix = _version_prefix(target_relation) -%}
    {%- call statement('list_versions', fetch_result=True) -%}
        show tables in {{ version.schema }} like '{{ prefix }}*'
    {%- endcall -%}
    {%- set names = load_result('list_versions').data | map(attribute=1) | sort(reverse=true) -%}
    {%- for name in names[to_keep:] if name != version.identifier -%}
        {% do adapter.drop_relation(version.incorporate(path={'identifier': name})) %}
    {%- endfor -%}
{% endmacro %}


{# The versions' schemas of all schemas in use; called before whatever builds a relation. #}
{% macro create_versions_schema() %}
    {%- if execute and flags.WHICH in ['build', 'clone', 'retry', 'run', 'seed'] -%}
        {%- for schema in [target.schema, var('sample_schema')] -%}
            {%- do run_query('create schema if not exists ' ~ versions_schema(schema)) -%}
        {%- endfor -%}
    {%- endif -%}
{% endmacro %}
