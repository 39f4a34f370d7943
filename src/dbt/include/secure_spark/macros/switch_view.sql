{#
    The statement that lets a view show another query. A view that exists is altered, which
    is one step in the metastore: `create or replace view` drops it and creates it again, and
    a reader in between finds none. The versions that stay are named first, and with them the
    description is written, if `persist_docs` asks for it.

    relation    the view
    definition  what the metastore tells of it; none if it does not exist
    query       the query
    kept        the versions that stay beside those that the query reads
#}
{% macro switch_view(relation, definition, query, kept) %}
    {%- set query = adapter.in_its_catalog(graph, query) -%}
    {%- set kept_versions = "'kept_versions' = '" ~ adapter.begin_switch(relation, query, kept) ~ "'" -%}
    {%- set comment = relation_comment() -%}
    {%- if config.persist_column_docs() -%}
        {% do exceptions.warn(
            "persist_docs of '" ~ model.name ~ "' asks for its columns, whose comments Spark does not keep"
            ~ " when a view is altered: only the relation's description is written."
        ) %}
    {%- endif -%}
    {%- if definition -%}
        {#- There is no clause for the comment of a view that exists, only this property. -#}
        {%- set had_one = '\nComment: ' in definition -%}
        {%- set properties = [kept_versions] + (["'comment' = " ~ (comment or "''")] if comment or had_one else []) -%}
        {% do run_query('alter view ' ~ relation ~ ' set tblproperties (' ~ properties | join(', ') ~ ')') %}
        {#- Over a server that takes a second, and what is suspended then must not go on. -#}
        {% do adapter.check_lock() %}
alter view {{ relation }} as
{{ query }}
    {%- else -%}
create view {{ relation }}
{{ 'comment ' ~ comment if comment }}
tblproperties ({{ kept_versions }})
as
{{ query }}
    {%- endif -%}
{% endmacro %}
