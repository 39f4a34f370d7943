{#
    The published version of a staged table, and the last version that passed keeps_most_ids: none
    before the first one passes. Empty if dbt may not query them.

    name  the staging model
#}
{% macro versions_to_compare(name) %}
    {%- if not execute or not flags.INTROSPECT -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set published = secure_datasets._published_version(name) -%}
    {%- if not published and flags.WHICH in ['build', 'test'] -%}
        {{ exceptions.raise_compiler_error(
            "keeps_most_ids: '" ~ name ~ "' has no published version to compare: run it first, and let it be a published_view."
        ) }}
    {%- endif -%}
    {{ return({'published': published, 'accepted': secure_datasets._accepted_versions().get(name)}) }}
{% endmacro %}


{# The version that a staging model's view reads, whatever its relation is called; none without one. #}
{% macro _published_version(name) %}
    {%- set node = secure_datasets.model_named(name) -%}
    {%- set definitions = adapter.definitions(node.schema, node.alias) -%}
    {{ return(adapter.read_by(definitions.get(node.alias | lower)) | first | default(none)) }}
{% endmacro %}


{#
    The view that reads the versions that passed, which therefore stay. The sample has one of
    its own: the first build from a replica has lost nothing of it.
#}
{% macro _accepted_view() %}
    {%- set suffix = '_of_sample' if secure_datasets.reads_sample() else '' -%}
    {{ return(api.Relation.create(
        schema=project_schema(), identifier='accepted_ids' ~ suffix, type='view'
    )) }}
{% endmacro %}


{# The version that passed last, by staging model, whatever its relation is called. #}
{% macro _accepted_versions() %}
    {%- set view, versions, models = secure_datasets._accepted_view(), {}, {} -%}
    {#- Another package's model may have the alias of a staging model, in a schema of its own. -#}
    {%- for node in graph.nodes.values() if node.resource_type == 'model' and node.package_name == 'secure_datasets' -%}
        {% do models.update({node.alias | lower: node.name}) %}
    {%- endfor -%}
    {%- set told = adapter.definitions(view.schema, view.identifier).get(view.identifier) -%}
    {%- for version in adapter.read_by(told) -%}
        {%- set alias = version.split('.')[1].rpartition('__v')[0] -%}
        {% do versions.update({models.get(alias, alias): version}) %}
    {%- endfor -%}
    {{ return(versions) }}
{% endmacro %}
