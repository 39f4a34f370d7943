{# The raw tables that the application does not have: the variable `absent_tables`, checked. #}
{% macro absent_tables() %}
    {{ return(secure_datasets._raw_tables_in('absent_tables')) }}
{% endmacro %}


{# A variable that lists raw tables. #}
{% macro _raw_tables_in(variable) %}
    {%- set tables = var(variable) -%}
    {%- if tables is string or tables is not sequence -%}
        {{ exceptions.raise_compiler_error(
            variable ~ " is '" ~ tables ~ "'; it must be a list of raw tables, such as [users]."
        ) }}
    {%- endif -%}
    {%- for table in tables if table not in secure_datasets.repository_tables() -%}
        {{ exceptions.raise_compiler_error(
            variable ~ " names '" ~ table ~ "', which is no raw table"
            ~ adapter.secure_datasets().listed(table, secure_datasets.repository_tables()) ~ '.'
        ) }}
    {%- endfor -%}
    {{ return(tables) }}
{% endmacro %}
