{#
    Hands the product's part of the published state to the run that writes it. Called after a
    run, before end_run().
#}
{% macro note_state() %}
    {%- if execute -%}
        {%- set before = {} -%}
        {%- for name in secure_datasets.repository_tables() -%}
            {%- set version = secure_datasets.version_before(name) -%}
            {%- if version -%}
                {% do before.update({name: version}) %}
            {%- endif -%}
        {%- endfor -%}
        {% do adapter.note_document('secure_datasets', dict(secure_datasets.state_document(), versions_before=before)) %}
    {%- endif -%}
{% endmacro %}
