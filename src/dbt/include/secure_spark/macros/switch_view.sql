{#
    The statement that lets a view show another query. A view that exists is altered, which
    is one step in the metastore: `create or replace view` drops it and creates it again, and
    a reader in between finds none. The versions that stay are named first.

    relation    the view
    definition  what the metastore tells of it; none if it does not exist
    query       the query
    kept        the versions that stay beside those that the query reads
#}
{% macro switch_view(relation, definition, query, kept) %}
    {%- set properties -%}
        tblproperties ('kept_versions' = '{{ adapter.begin_switch(relation, query, kept) }}')
    {%- endset -%}
    {%- if definition -%}
        {% do run_query('alter view ' ~ relation ~ ' set ' ~ properties) %}
alter view {{ relation }} as
{{ query }}
    {%- else -%}
create view {{ relation }}
{{ comment_clause() }}
{{ properties }}
as
{{ query }}
    {%- endif -%}
{% endmacro %}
