{#
    Hands the product's part of the published state to the run that writes it: the basis of the
    command secure-datasets, which runs without dbt. Called after a run, before end_run().
#}
{% macro note_state() %}
    {%- if execute -%}
        {%- set vars, feeds, raw_tables = {}, {}, secure_datasets.repository_tables() -%}
        {%- for name in raw_tables -%}
            {% do feeds.update({name: secure_datasets.feed_of(name)}) %}
        {%- endfor -%}
        {%- for name in adapter.names_of_vars() + ['feeds', 'absent_tables'] if var(name, none) is not none -%}
            {% do vars.update({name: var(name)}) %}
        {%- endfor -%}
        {% do adapter.note_document('secure_datasets', {
            'version': adapter.product_version(),
            'config': secure_datasets.secure_datasets_config(),
            'raw_tables': raw_tables,
            'feeds': feeds,
            'vars': vars,
            'macros': adapter.macros_of('secure_datasets'),
            'config_files': adapter.files_of_macros(['secure_datasets_config', 'default__secure_datasets_config']),
        }) %}
    {%- endif -%}
{% endmacro %}
