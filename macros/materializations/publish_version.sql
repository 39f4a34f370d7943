{#
    Points a view at a new version of its rows, and names the versions before that stay.

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
    {%- set definition = published_definitions(
        target_relation.schema, target_relation.identifier
    ).get(target_relation.identifier) -%}
    {%- set before = _versions_read(definition) + _versions_kept(definition) -%}
    {%- call statement('publish_version') -%}
        {{ switch_view(
            target_relation, definition, 'select * from ' ~ version,
            kept=(before | unique | list)[:to_keep - 1],
        ) }}
    {%- endcall -%}
{% endmacro %}


{% macro _version_prefix(relation) -%}
    {{ return(relation.identifier ~ '__v') }}
{%- endmacro %}
