{# This run's name, as those of its versions end: sorts by the start, and is its alone. #}
{% macro run_name() -%}
    {{ return(run_started_at.strftime('%Y%m%d%H%M%S') ~ '_' ~ invocation_id[:8]) }}
{%- endmacro %}
