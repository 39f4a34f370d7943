{#
    Called when a run has begun: notes where the raw tables are that it reads, and stops it if it
    would put the sample in the place of a replica's rows, as one does whose `--vars` were forgotten. Data tests alone note nothing.
#}
{% macro note_raw_schema() %}
    {%- if execute and flags.WHICH in ['build', 'run'] -%}
        {% do adapter.note_raw_schema(var('raw_schema'), secure_datasets.reads_sample()) %}
    {%- elif flags.WHICH == 'test' -%}
        {% do secure_datasets.check_raw_schema() %}
    {%- endif -%}
{% endmacro %}
