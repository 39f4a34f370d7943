{# The readers' functions by name, with the schema, each with the roles that may execute it. #}
{% macro readers_functions() %}
    {%- set functions = {} -%}
    {%- for name in secure_datasets.readers_names() -%}
        {% do functions.update({secure_datasets._readers_function(name): var('reader_applications')}) %}
    {%- endfor -%}
    {{ return(functions) }}
{% endmacro %}


{# The name of the function of a dataset or an access view, with its schema. #}
{% macro _readers_function(name) %}
    {{ return(project_schema() ~ '.' ~ name ~ '_of') }}
{% endmacro %}
