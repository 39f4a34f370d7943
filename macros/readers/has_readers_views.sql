{# Whether readers have views, or are to have them. #}
{% macro has_readers_views() %}
    {{ return(var('readers_views') or 'rendered_by=secure_datasets' in adapter.definitions(secure_datasets.readers_schema()).values() | join(' ')) }}
{% endmacro %}
