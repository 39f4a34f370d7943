{# The share of lost ids that fails: the variable `lost_rows_error_share`, checked. #}
{% macro lost_rows_error_share() %}
    {%- set share = var('lost_rows_error_share') -%}
    {%- if share is boolean or share is not number or not 0 <= share <= 1 -%}
        {{ exceptions.raise_compiler_error(
            "lost_rows_error_share is '" ~ share ~ "'; it must be a number from 0 to 1."
        ) }}
    {%- endif -%}
    {{ return(share) }}
{% endmacro %}
