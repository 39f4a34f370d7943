{#
    Stops a command that would hold the sample's raw tables against what a replica's rows made, as
    one does whose `--vars` were forgotten.
#}
{% macro check_raw_schema() %}
    {%- if execute and secure_datasets.reads_sample() -%}
        {%- set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') -%}
        {% do adapter.check_raw_schema(models | selectattr('config.materialized', 'equalto', 'published_view') | map(attribute='schema') | list) %}
    {%- endif -%}
{% endmacro %}
