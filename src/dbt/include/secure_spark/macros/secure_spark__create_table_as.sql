{#
    Creates a table as dbt-spark's macro does. The failures of a data test are those of the new query of
    each view that waits for its tests.
#}
{% macro secure_spark__create_table_as(temporary, relation, compiled_code, language='sql') -%}
{%- set is_test = model.resource_type == 'test' -%}
{{ return(spark__create_table_as(
    temporary, relation, _rows_to_test(compiled_code) if is_test else compiled_code, language
)) }}
{%- endmacro %}
