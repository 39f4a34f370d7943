{#
    What materializations of stored relations share: builds a new version by the code that
    the caller gives for it, and points the view of the node's name at it, with grants and
    hooks.

    Call      {% call(version) publish_rows('python') %}<code that writes version>{% endcall %}
    language  the language of the code: sql or python
#}
{% macro publish_rows(language) %}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- set version = version_relation(this) -%}
    {%- set to_keep = versions_to_keep() -%}
    {%- set definition = adapter.definition_of(target_relation) -%}
    {%- if config.get('location_root') -%}
        {%- do exceptions.raise_compiler_error(
            "'" ~ model.name ~ "' has a location_root, which gives all its versions one folder, so that a new one"
            ~ " would replace the rows that readers read: take it away, and let the schema have a location."
        ) -%}
    {%- endif -%}
    {%- set raw = adapter.read_raw_tables(graph, model) -%}

    {{ run_hooks(pre_hooks) }}

    {%- set code = caller(version) -%}
    {%- call statement('main', language=language) -%}
        {{ code }}
    {%- endcall -%}

    {%- if config.get('statistics') -%}
        {%- call statement('statistics') -%}
            analyze table {{ version }} compute statistics for columns {{ config.get('statistics') | join(', ') }}
        {%- endcall -%}
    {%- endif -%}

    {#- A seed has no query. -#}
    {% do adapter.record_version(graph, model, version, raw, compiled_code if model.resource_type == 'model' else none) %}
    {% do publish_version(target_relation, version, definition, to_keep) %}
    {% do apply_grants(target_relation, config.get('grants'), should_revoke=True) %}

    {{ run_hooks(post_hooks) }}
{% endmacro %}
