{#
    Called when a run has begun: notes the schema of the raw tables that it reads, and stops it if it
    would replace a replica's rows with the sample, as happens if its `--vars` were forgotten. A run of
    data tests alone notes nothing.
#}
{% macro note_raw_schema() %}
    {%- if execute and flags.WHICH in ['build', 'run'] -%}
        {% do adapter.note_raw_schema(var('raw_schema'), secure_datasets.reads_sample()) %}
    {%- elif flags.WHICH == 'test' -%}
        {% do secure_datasets.check_raw_schema() %}
    {%- endif -%}
{% endmacro %}
