{# Called before anything starts: stops dbt if a variable is not what it must be. #}
{% macro check_vars() %}
    {%- if execute -%}
        {%- set values = {} -%}
        {%- for name in adapter.names_of_vars() -%}
            {% do values.update({name: var(name, none)}) %}
        {%- endfor -%}
        {% do adapter.check_vars(values) %}
    {%- endif -%}
{% endmacro %}
