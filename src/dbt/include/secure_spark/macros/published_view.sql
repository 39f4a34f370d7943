{#
    Builds the result as a new immutable table, named by version, and then points the view
    of the model's name at it in one step: a reader meets the old rows or the new
    ones, never a missing or half-written relation. Serves SQL and Python models.

    versions_to_keep  how many versions stay, the published one included (default 2): a
                      reader that started on the one before can finish
    cluster_by        columns by which a version's rows are brought together and sorted
    statistics        columns whose values are counted, so that a query that asks for one
                      of them is known to be small
    file_format, contract, grants, persist_docs as for dbt-spark's table
#}
{% materialization published_view, adapter='secure_spark', supported_languages=['sql', 'python'] %}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- set version = version_relation(this) -%}
    {%- set to_keep = versions_to_keep() -%}
    {%- set definition = adapter.definition_of(target_relation) -%}
    {%- if config.get('location_root') -%}
        {%- do exceptions.raise_compiler_error(
            "'" ~ model.name ~ "' has a location_root, which gives all its versions one folder, so that a new one"
            ~ " would replace the rows that readers read: take it away, and let the schema have a location."
        ) -%}
    {%- endif -%}
    {%- set raw = adapter.read_raw_tables(graph, model) -%}

    {{ run_hooks(pre_hooks) }}

    {%- call statement('main', language=model['language']) -%}
        {%- if model['language'] == 'python' -%}
            {{ write_python_version(version, compiled_code) }}
        {%- else -%}
            {{ create_table_as(False, version, _clustered(compiled_code)) }}
        {%- endif -%}
    {%- endcall -%}

    {%- if config.get('statistics') -%}
        {%- call statement('statistics') -%}
            analyze table {{ version }} compute statistics for columns {{ config.get('statistics') | join(', ') }}
        {%- endcall -%}
    {%- endif -%}

    {% do adapter.record_version(graph, model, version, raw, compiled_code) %}
    {% do publish_version(target_relation, version, definition, to_keep) %}
    {% do apply_grants(target_relation, config.get('grants'), should_revoke=True) %}

    {{ run_hooks(post_hooks) }}

    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{# The query with its rows laid out by `cluster_by`, if the model has it. #}
{% macro _clustered(compiled_code) -%}
{%- set columns = config.get('cluster_by') -%}
{%- if columns -%}
select * from (
{{ compiled_code }}
) as unclustered
cluster by {{ columns | join(', ') }}
{%- else -%}
{{ compiled_code }}
{%- endif -%}
{%- endmacro %}
