{# This run's name, the suffix of its versions: unique, and sorts by the start of the run. #}
{% macro run_name() -%}
    {{ return(run_started_at.strftime('%Y%m%d%H%M%S') ~ '_' ~ invocation_id[:8]) }}
{%- endmacro %}
