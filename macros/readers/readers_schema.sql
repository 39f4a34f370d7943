{# The schema of the readers' views: apart from the datasets, so that it is granted alone. #}
{% macro readers_schema() -%}
    {{ return(project_schema() ~ '_readers') }}
{%- endmacro %}
