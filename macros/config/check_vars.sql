{# Called before anything starts: stops dbt if a variable is not what it must be. #}
{% macro check_vars() %}
    {%- if execute -%}
        {%- do secure_datasets.check_adapter() -%}
        {#- A variable that is null is set, and to what it must not be. -#}
        {%- set values, this_is_unset = {}, [] -%}
        {%- for name in adapter.names_of_vars() -%}
            {%- if var(name, this_is_unset) is not sameas this_is_unset -%}
                {% do values.update({name: var(name)}) %}
            {%- endif -%}
        {%- endfor -%}
        {% do adapter.check_vars(values) %}
    {%- endif -%}
{% endmacro %}
