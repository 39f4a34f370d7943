{#
    The document that the command secure-datasets reads in place of dbt: the checked config, the raw
    tables with their feeds, the variables and the macros.
#}
{% macro state_document() %}
    {%- set vars, feeds, raw_tables = {}, {}, secure_datasets.repository_tables() -%}
    {%- for name in raw_tables -%}
        {% do feeds.update({name: secure_datasets.feed_of(name)}) %}
    {%- endfor -%}
    {%- for name in adapter.names_of_vars() + ['feeds', 'absent_tables'] if var(name, none) is not none -%}
        {% do vars.update({name: var(name)}) %}
    {%- endfor -%}
    {%- set config = secure_datasets.secure_datasets_config() -%}
    {{ return({
        'version': adapter.product_version(),
        'python_part': adapter.secure_datasets().python_part(),
        'config': config,
        'places': adapter.secure_datasets().places(config),
        'raw_tables': raw_tables,
        'feeds': feeds,
        'vars': vars,
        'macros': adapter.macros_of('secure_datasets'),
        'config_files': adapter.files_of_macros(['secure_datasets_config', 'default__secure_datasets_config']),
    }) }}
{% endmacro %}
