{#
    The steps before a stored relation's new version is written, in every materialization. dbt runs
    Python only from a materialization, so this half and publish_rows() surround its statement.

    compiled_code  the query, or the Python code; none for a seed

    Returns   the argument of publish_rows(): what the adapter's begin_version() returns, and
              version     the table to write
              relation    the relation
              to_keep     the number of versions that stay
#}
{% macro begin_version(compiled_code=none) %}
    {%- if config.get('location_root') -%}
        {%- do exceptions.raise_compiler_error(
            "'" ~ model.name ~ "' has a location_root, which gives all its versions one folder, so that a new one"
            ~ " would replace the rows that readers read: take it away, and let the schema have a location."
        ) -%}
    {%- endif -%}
    {%- set target_relation = this.incorporate(type='view') -%}
    {#- The hooks may write relations that the query reads, also raw tables. -#}
    {% do run_hooks(pre_hooks) %}
    {%- set begun = adapter.begin_version(
        graph, model, target_relation, compiled_code, var('as_of', none), should_full_refresh()
    ) -%}
    {%- do begun.update(relation=target_relation, version=version_relation(this), to_keep=versions_to_keep()) -%}
    {{ return(begun) }}
{% endmacro %}
