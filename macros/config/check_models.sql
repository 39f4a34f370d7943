{#
    Called before anything starts: stops dbt if a root project has changed how the product's
    models are kept, as by `models: +materialized: table` for all, or has what secure datasets
    are made of read as it is latest, or grants those who read secure datasets what these are
    made of, or quotes names, or has a macro that would be called in the place of the adapter's.
    Rows would be gone while they are rebuilt, rows and rights would no longer change together,
    readers would read around their rights, and no version would be found.
#}
{% macro check_models() %}
    {%- do secure_datasets.check_adapter() -%}
    {#- Where the product is the root, nobody else has a say. -#}
    {%- if execute and project_name != 'secure_datasets' -%}
        {%- do adapter.check_macros() -%}
        {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed', 'snapshot']) | list -%}
        {%- set readers = (var('readers', []) or []) + (var('reader_applications', []) or []) -%}
        {% do adapter.secure_datasets().check_models(nodes, secure_datasets.secure_datasets_config(), readers) %}
    {%- endif -%}
{% endmacro %}
