{#
    Builds the result as a new immutable table, named by version, and then points the view
    of the model's name at it in one step: a reader sees the old rows or the new
    ones, never a missing or half-written relation. Serves SQL and Python models.

    versions_to_keep  the number of versions that stay, the published one included (default 2):
                      a reader that started on the version before can finish
    cluster_by        columns that group and sort a version's rows
    folders           the number of folders of a version, by the first column of cluster_by, so
                      that a secure dataset reads only the folders of its user's keys: a number,
                      or auto, by the rows of the version before. With cluster_by, it is auto by
                      default, unless statistics or in_time is set
    folders_by        the key of the folders, if the value of the first column of cluster_by decides
                      it: a column for each value
    keep_unchanged    whether the version stays if no input of its rows has changed. The rows
                      then depend on no variable of the session
    in_time           whether the rows hold for a time, by `holds_from` and `holds_until`: the view
                      shows the rows that hold at the moment of reading. Or the name of a flag, which
                      is true while a row holds
    statistics        columns whose values are counted, so that Spark knows that a query for one
                      value is small; with cluster_by, the files are few, since each costs that
                      query some time
    persist_docs      the relation's description as its comment; no comments on columns
    file_format, contract, grants as for dbt-spark's table
#}
{% materialization published_view, adapter='secure_spark', supported_languages=['sql', 'python'] %}
    {%- set begun = begin_version(compiled_code) -%}
    {%- if begun.kept -%}
        {#- dbt asks for a result of this name. -#}
        {%- call noop_statement('main', 'OK') -%} -- {{ begun.kept }} stays {%- endcall -%}
    {%- else -%}
        {%- call statement('main', language=model['language']) -%}
            {{ _statement_of_version(begun, begun.query or compiled_code) }}
        {%- endcall -%}
    {%- endif -%}
    {{ publish_rows(begun, compiled_code) }}
    {{ return({'relations': [begun.relation]}) }}
{% endmaterialization %}


{# The SQL or Python that writes a version. #}
{% macro _statement_of_version(begun, compiled_code) -%}
{%- if model['language'] == 'python' -%}
{{ write_python_version(adapter.table_of(begun.version), compiled_code, begun.folders, begun.files) }}
{%- elif begun.folders -%}
{{ _version_in_folders(begun.version, compiled_code, begun.folders) }}
{%- else -%}
{{ create_table_as(False, begun.version, _clustered(compiled_code, begun.files)) }}
{%- endif -%}
{%- endmacro %}


{# The query with its rows laid out by `cluster_by`, if the model has it. #}
{% macro _clustered(compiled_code, files=none) -%}
{%- set columns = config.get('cluster_by') -%}
{%- if columns -%}
select {{ '/*+ repartition(' ~ files ~ ', ' ~ columns | join(', ') ~ ') */ ' if files }}* from (
{{ compiled_code }}
) as unclustered
{{ 'sort' if files else 'cluster' }} by {{ columns | join(', ') }}
{%- else -%}
{{ compiled_code }}
{%- endif -%}
{%- endmacro %}


{#
    The statement that writes a version in folders or buckets, like dbt-spark's `create_table_as`
    without them: the column of the folders is no column of the contract. It sorts Iceberg's
    buckets too, since Iceberg itself would sort by the bucket alone.
#}
{% macro _version_in_folders(version, compiled_code, folders) -%}
{%- set query = compiled_code -%}
{%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- set query = get_select_subquery(compiled_code) -%}
{%- endif -%}
create table {{ version }}
{{ file_format_clause() }}
{{ options_clause() }}
{{ _properties_clause(dict(folders.properties or {}, **config.get('tblproperties') or {})) }}
partitioned by ({{ folders.clause }})
{{ comment_clause() }}
as
select
    {{ folders.selected }}
from (
{{ query }}
) as not_in_folders
distribute by {{ folders.place }}
sort by {{ folders.place }}, {{ config.get('cluster_by') | join(', ') }}
{%- endmacro %}


{# The properties of a table, as dbt-spark's `tblproperties_clause` writes those of the configuration. #}
{% macro _properties_clause(properties) -%}
{%- if properties -%}
tblproperties ({% for name, value in properties.items() %}'{{ name }}' = '{{ value }}'{{ ', ' if not loop.last }}{% endfor %})
{%- endif -%}
{%- endmacro %}
