{# Whether readers have views, or are to have them. #}
{% macro has_readers_views() %}
    {%- set there = [] -%}
    {%- for told in ({} if var('readers_views') else adapter.definitions(secure_datasets.readers_schema())).values() if 'rendered_by=secure_datasets' in told -%}
        {% do there.append(told) %}
    {%- endfor -%}
    {{ return(var('readers_views') or there | length > 0) }}
{% endmacro %}
