{#
    What comes before a stored relation's new version is written, whichever materialization
    writes it. dbt lets Python run from a materialization alone, so that the two halves stand
    around its statement.

    compiled_code  the query, or the Python code; none of a seed

    Returns   what publish_rows() takes: version, the table to write; the relation; what the
              metastore tells of it; how many versions stay; what the raw tables hold; the
              folders that the version lies in, or none; of how many files it is made, or
              none where that makes no difference; how its rows are shown in time, or none
              where they hold always; what it is made of, or none where it is not
              to be kept; and the published version that stays, if the new one would be the same
#}
{% macro begin_version(compiled_code=none) %}
    {%- if config.get('location_root') -%}
        {%- do exceptions.raise_compiler_error(
            "'" ~ model.name ~ "' has a location_root, which gives all its versions one folder, so that a new one"
            ~ " would replace the rows that readers read: take it away, and let the schema have a location."
        ) -%}
    {%- endif -%}
    {%- set target_relation = this.incorporate(type='view') -%}
    {#- They may write what the query reads, raw tables among it. -#}
    {% do run_hooks(pre_hooks) %}
    {#- Before the raw tables are asked for what they hold: what is written to them from here on, until
        the version is there, is not in what it was made of. -#}
    {%- set raw_files = adapter.files_of_sources(graph, model) -%}
    {%- set begun = {
        'relation': target_relation,
        'version': version_relation(this),
        'to_keep': versions_to_keep(),
        'definition': adapter.definition_of(target_relation),
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
    {{ return(begun) }}
{% endmacro %}
