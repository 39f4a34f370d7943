{# The raw tables whose lost ids are meant: the variable `meant_losses`, checked. #}
{% macro meant_losses() %}
    {%- set tables = var('meant_losses') -%}
    {%- if tables is string or tables is not sequence -%}
        {{ exceptions.raise_compiler_error(
            "meant_losses is '" ~ tables ~ "'; it must be a list of raw tables, such as [users]."
        ) }}
    {%- endif -%}
    {%- for table in tables if table not in secure_datasets.repository_tables() -%}
        {{ exceptions.raise_compiler_error(
            "meant_losses names '" ~ table ~ "', which is no raw table; known are "
            ~ secure_datasets.repository_tables() | join(', ') ~ '.'
        ) }}
    {%- endfor -%}
    {{ return(tables) }}
{% endmacro %}
