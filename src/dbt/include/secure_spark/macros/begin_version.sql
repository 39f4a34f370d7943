{#
    The steps before a stored relation's new version is written, in every materialization. dbt runs
    Python only from a materialization, so this half and publish_rows() surround its statement.

    compiled_code  the query, or the Python code; none for a seed

    Returns   the argument of publish_rows():
              version     the table to write
              relation    the relation
              definition  the metastore's description of the relation, unless its version stays
              to_keep     the number of versions that stay
              raw         the state of the raw tables
              folders     the folders of the version; none for one
              files       the number of its files; none if it makes no difference
              in_time     the rule that shows its rows in time; none if they always hold
              made_of     the inputs of the version; none if they are unknown or must not keep a version
              kept        the published version that stays, if the new one would be the same
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
    {#- Before the read of the raw tables' state: files that are written between here and the end of
        the version are not among its inputs. -#}
    {%- set raw_files = adapter.files_of_sources(graph, model) -%}
    {%- set begun = {
        'relation': target_relation,
        'version': version_relation(this),
        'to_keep': versions_to_keep(),
        'definition': none,
        'raw': adapter.read_raw_tables(graph, model, none if should_full_refresh() else raw_files),
        'folders': none,
        'files': none,
        'in_time': adapter.in_time_of(graph, model, var('as_of', none)),
        'made_of': none,
        'kept': none,
    } -%}
    {%- if compiled_code -%}
        {%- do begun.update(folders=adapter.folders_for(graph, model, compiled_code)) -%}
        {%- do begun.update(made_of=adapter.made_of(graph, model, compiled_code, begun, raw_files)) -%}
        {%- if not should_full_refresh() -%}
            {%- do begun.update(kept=adapter.version_to_keep(model, begun)) -%}
        {%- endif -%}
        {%- if not begun.kept -%}
            {%- do begun.update(files=adapter.files_for(model)) -%}
        {%- endif -%}
    {%- endif -%}
    {%- if not begun.kept -%}
        {%- do begun.update(definition=adapter.definition_of(target_relation)) -%}
    {%- endif -%}
    {{ return(begun) }}
{% endmacro %}
