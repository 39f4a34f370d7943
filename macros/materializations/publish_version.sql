{#
    Points a view at a new version of its rows, and drops the versions that the config no
    longer keeps.

    target_relation  the view that readers know
    version          the table to publish, named by version_relation()
    to_keep          how many versions stay, this one included
#}
{% macro publish_version(target_relation, version, to_keep) %}
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
    {% do _drop_old_versions(target_relation, version, to_keep) %}
{% endmacro %}


{% macro _version_prefix(relation) -%}
    {{ return(relation.identifier ~ '__v') }}
{%- endmacro %}


{% macro _drop_old_versions(target_relation, version, to_keep) %}
    {%- set prefix = _version_prefix(target_relation) -%}
    {%- call statement('list_versions', fetch_result=True) -%}
        show tables in {{ version.schema }} like '{{ prefix }}*'
    {%- endcall -%}
    {%- set names = [] -%}
    {%- for row in load_result('list_versions').data -%}
        {# `orders__v*` also finds the versions of a relation `orders__views`. #}
        {%- if modules.re.fullmatch('[0-9]{14}_[0-9a-f]{8}', row[1][prefix | length:]) -%}
            {% do names.append(row[1]) %}
        {%- endif -%}
    {%- endfor -%}
    {%- for name in (names | sort(reverse=true))[to_keep:] if name != version.identifier -%}
        {% do adapter.drop_relation(version.incorporate(path={'identifier': name})) %}
    {%- endfor -%}
{% endmacro %}
