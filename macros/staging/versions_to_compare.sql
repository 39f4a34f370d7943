{#
    The version of a staged table that is published, and the one that passed keeps_most_ids
    last. Empty where dbt may not ask for them, and without the second while none has passed.

    name  the staging model
#}
{% macro versions_to_compare(name) %}
    {%- if not execute or not flags.INTROSPECT -%}
        {{ return({}) }}
    {%- endif -%}
    {%- set definitions = adapter.definitions(target.schema, name ~ '|' ~ _accepted_view().identifier) -%}
    {%- set published = adapter.read_by(definitions.get(name)) -%}
    {{ return({
        'published': published[0] if published,
        'accepted': _accepted_versions(definitions).get(name),
    }) }}
{% endmacro %}


{#
    The view that reads the versions that passed, which therefore stay. The sample has one of
    its own: the first build from a replica has lost nothing of it.
#}
{% macro _accepted_view() %}
    {%- set suffix = '_of_sample' if reads_sample() else '' -%}
    {{ return(api.Relation.create(
        schema=target.schema, identifier='accepted_ids' ~ suffix, type='view'
    )) }}
{% endmacro %}


{#
    The version that passed last, by staging model.

    definitions  what adapter.definitions() returns, the view's among it
#}
{% macro _accepted_versions(definitions) %}
    {%- set versions = {} -%}
    {%- for version in adapter.read_by(definitions.get(_accepted_view().identifier)) -%}
        {% do versions.update({version.split('.')[1].rpartition('__v')[0]: version}) %}
    {%- endfor -%}
    {{ return(versions) }}
{% endmacro %}
