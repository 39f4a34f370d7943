{#
    The statement that switches a view to a new query. It alters an existing view, which is one
    step in the metastore: `create or replace view` drops it and creates it again, and a reader in
    between finds none. A first statement names the versions that stay, and writes the description
    if `persist_docs` requires it; it is left out if the view has both already.

    relation    the view
    definition  the metastore's description of the view; none if it does not exist
    query       the query
    kept        the versions that stay besides the versions in the query
    contract    the digest of a contract that has been checked; none if the check has no digest
#}
{% macro switch_view(relation, definition, query, kept, contract=none) %}
    {%- set query = adapter.in_its_catalog(graph, query) -%}
    {%- set kept_versions = adapter.begin_switch(relation, query, kept) -%}
    {%- set comment = relation_comment() -%}
    {%- if config.persist_column_docs() -%}
        {% do exceptions.warn(
            "persist_docs of '" ~ model.name ~ "' asks for its columns, whose comments Spark does not keep"
            ~ " when a view is altered: only the relation's description is written."
        ) %}
    {%- endif -%}
    {%- if definition -%}
        {%- set properties = adapter.properties_to_set(definition, kept_versions, comment, contract) -%}
        {%- if properties -%}
            {% do run_query('alter view ' ~ relation ~ ' set tblproperties (' ~ properties | join(', ') ~ ')') %}
        {%- endif -%}
        {#- Over a server that takes a second, and a run that was suspended meanwhile must not go on. -#}
        {% do adapter.check_lock() %}
alter view {{ relation }} as
{{ query }}
    {%- else -%}
create view {{ relation }}
{{ 'comment ' ~ comment if comment }}
tblproperties ('kept_versions' = '{{ kept_versions }}'{{ ", 'contract' = '" ~ contract ~ "'" if contract }})
as
{{ query }}
    {%- endif -%}
{% endmacro %}
