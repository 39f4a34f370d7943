{#
    The query of a data test, as dbt's own macro writes it. It reads the new query of each view that waits
    for its tests, in the place of the view. Stored failures are read as they were stored.
#}
{% macro secure_spark__get_test_sql(main_sql, fail_calc, warn_if, error_if, limit) -%}
{%- if not should_store_failures() -%}
    {%- set main_sql = adapter.rows_to_test(graph, model, main_sql, var('publish_after_tests', false)) -%}
{%- endif -%}
{{ return(default__get_test_sql(main_sql, fail_calc, warn_if, error_if, limit)) }}
{%- endmacro %}
