{# The whole seconds between two timestamps, cut toward zero; null if either is null. #}
{% macro whole_seconds_between(started, completed) -%}
(unix_micros({{ completed }}) - unix_micros({{ started }})) div 1000000
{%- endmacro %}
