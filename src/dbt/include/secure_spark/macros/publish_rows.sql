{#
    The steps after a stored relation's new version is written: points the view of the node's name at
    it, with statistics, grants and hooks.

    begun  the result of begin_version()
    sql    the query of the version; none for a seed
#}
{% macro publish_rows(begun, sql=none) %}
    {%- if config.get('statistics') and not begun.kept -%}
        {% do adapter.count_values(begun.version, config.get('statistics'), config.get('file_format')) %}
    {%- endif -%}

    {%- if begun.kept -%}
        {#- The same rows, read from the present state of the raw tables. -#}
        {% do adapter.check_lock() %}
        {% do adapter.record_version(graph, model, begun.kept, begun.raw, sql) %}
        {#- Equal rows may be in different files now. -#}
        {% do adapter.note_files(graph, model, begun.kept, begun.made_of) %}
    {%- else -%}
        {% do adapter.record_version(graph, model, begun.version, begun.raw, sql, begun.made_of) %}
        {% do publish_version(begun.relation, begun.version, begun.definition, begun.to_keep, begun.in_time or begun.folders) %}
    {%- endif -%}
    {% do apply_grants(begun.relation, config.get('grants'), should_revoke=True) %}

    {{ run_hooks(post_hooks) }}
{% endmacro %}
