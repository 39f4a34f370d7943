{#
    Hands the product's part of the published state to the run that writes it. Called after a
    run, before end_run().
#}
{% macro note_state() %}
    {%- if execute -%}
        {% do adapter.note_state(secure_datasets, var) %}
    {%- endif -%}
{% endmacro %}
