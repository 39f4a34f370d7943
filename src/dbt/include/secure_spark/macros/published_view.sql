{#
    Builds the result as a new immutable table, named by version, and then points the view
    of the model's name at it in one step: a reader meets the old rows or the new
    ones, never a missing or half-written relation. Serves SQL and Python models.

    versions_to_keep  how many versions stay, the published one included (default 2): a
                      reader that started on the one before can finish
    cluster_by        columns by which a version's rows are brought together and sorted
    statistics        columns whose values are counted, so that a query that asks for one
                      of them is known to be small
    persist_docs      the relation's description as its comment; none of columns
    file_format, contract, grants as for dbt-spark's table
#}
{% materialization published_view, adapter='secure_spark', supported_languages=['sql', 'python'] %}
    {%- set begun = begin_version() -%}
    {%- call statement('main', language=model['language']) -%}
        {%- if model['language'] == 'python' -%}
            {{ write_python_version(begun.version, compiled_code) }}
        {%- else -%}
            {{ create_table_as(False, begun.version, _clustered(compiled_code)) }}
        {%- endif -%}
    {%- endcall -%}
    {{ publish_rows(begun, compiled_code) }}
    {{ return({'relations': [begun.relation]}) }}
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
