{#
    The day on which exceptions are judged: today in UTC. The sample stands still, and is
    judged on a day of its own, so that what it excuses does not expire in a clone.
#}
{% macro judged_on() -%}
{%- if secure_datasets.reads_sample() and var('sample_day') -%}
'{{ var('sample_day') }}'
{%- else -%}
{{ secure_datasets.utc_day('current_timestamp()') }}
{%- endif -%}
{%- endmacro %}
