{#
    The query of a data test, as dbt's own macro writes it. It reads the new query of each view that waits
    for its tests, in the place of the view. Stored failures are read as they were stored.
#}
{% macro secure_spark__get_test_sql(main_sql, fail_calc, warn_if, error_if, limit) -%}
{%- if not should_store_failures() -%}
    {%- set main_sql = _rows_to_test(main_sql) -%}
{%- endif -%}
{{ return(default__get_test_sql(main_sql, fail_calc, warn_if, error_if, limit)) }}
{%- endmacro %}


{# A test's query over the new query of each view that waits for its tests. #}
{% macro _rows_to_test(sql) -%}
{{ return(adapter.rows_to_test(graph, model, sql, var('publish_after_tests', false))) }}
{%- endmacro %}
