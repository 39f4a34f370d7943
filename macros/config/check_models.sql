{#
    Called before anything starts: stops dbt if a root project has changed how the product's
    models are kept, as by `models: +materialized: table` for all, or has what secure datasets
    are made of read as it is latest, or grants those who read secure datasets what these are
    made of, or quotes names, or has a macro that would be called in the place of the adapter's.
    Rows would be gone while they are rebuilt, rows and rights would no longer change together,
    readers would read around their rights, and no version would be found. In a clone, where the
    product is the root project, of all this what is granted.
#}
{% macro check_models() %}
    {%- do secure_datasets.check_adapter() -%}
    {%- if execute -%}
        {#- Where the product is the root, nobody else has a say in how its models are kept. -#}
        {%- set is_clone = project_name == 'secure_datasets' -%}
        {%- if not is_clone -%}
            {%- do adapter.check_macros() -%}
        {%- endif -%}
        {%- set nodes = graph.nodes.values() | selectattr('resource_type', 'in', ['model', 'seed', 'snapshot']) | list -%}
        {%- set datasets = adapter.secure_datasets() -%}
        {%- if not is_clone or datasets.grant_anything(nodes) -%}
            {%- set readers = (var('readers', []) or []) + (var('reader_applications', []) or []) -%}
            {% do datasets.check_models(nodes, secure_datasets.secure_datasets_config(), readers, is_clone) %}
        {%- endif -%}
    {%- endif -%}
{% endmacro %}
