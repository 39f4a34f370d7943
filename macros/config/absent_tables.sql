{# The raw tables that the application does not have: the variable `absent_tables`, checked. #}
{% macro absent_tables() %}
    {{ return(adapter.secure_datasets().raw_tables_in('absent_tables', var('absent_tables'), secure_datasets.repository_tables())) }}
{% endmacro %}
