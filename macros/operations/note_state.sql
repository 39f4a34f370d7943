{#
    Hands the product's part of the published state to the run that writes it: what the
    command secure-datasets asks by, without dbt. Called after a run, before end_run().
#}
{% macro note_state() %}
    {%- if execute -%}
        {%- set vars = {} -%}
        {%- for name in ['as_of', 'before', 'after', 'raw_schema', 'loads_sample', 'sample_schema'] -%}
            {% do vars.update({name: var(name, none)}) %}
        {%- endfor -%}
        {% do adapter.note_document('secure_datasets', {
            'version': adapter.product_version(),
            'config': secure_datasets.secure_datasets_config(),
            'raw_tables': secure_datasets.repository_tables(),
            'vars': vars,
            'macros': adapter.macros_of('secure_datasets'),
        }) %}
    {%- endif -%}
{% endmacro %}
