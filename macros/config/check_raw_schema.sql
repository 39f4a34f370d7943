{#
    Stops a command that would compare the sample's raw tables with relations from a replica's rows,
    as happens if its `--vars` were forgotten.
#}
{% macro check_raw_schema() %}
    {%- if execute and secure_datasets.reads_sample() -%}
        {%- set models = graph.nodes.values() | selectattr('resource_type', 'equalto', 'model') -%}
        {% do adapter.check_raw_schema(models | selectattr('config.materialized', 'equalto', 'published_view') | map(attribute='schema') | list) %}
    {%- endif -%}
{% endmacro %}
