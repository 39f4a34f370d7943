{#
    The day on which exceptions are judged: today in UTC. The sample never changes, and has a day of
    its own, so that its exceptions do not expire in a clone.
#}
{% macro judged_on() -%}
{%- if secure_datasets.reads_sample() and var('sample_day') -%}
'{{ var('sample_day') }}'
{%- else -%}
{{ secure_datasets.utc_day('current_timestamp()') }}
{%- endif -%}
{%- endmacro %}
