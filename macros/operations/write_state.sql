{#
    Writes the product's part of the published state beside dbt's own results, as `state.json`,
    for cases of access. Spark does not start.

    Call   dbt run-operation write_state
#}
{% macro write_state() %}
    {%- do secure_datasets.check_adapter() -%}
    {% do adapter.write_document('state.json', adapter.state_document(secure_datasets, var)) %}
{% endmacro %}
