{# The readers' functions by name, with the schema, each with the roles that may execute it. #}
{% macro readers_functions() %}
    {%- set functions = {} -%}
    {%- for name in secure_datasets.readers_names() -%}
        {% do functions.update({project_schema() ~ '.' ~ name ~ '_of': var('reader_applications')}) %}
    {%- endfor -%}
    {{ return(functions) }}
{% endmacro %}
