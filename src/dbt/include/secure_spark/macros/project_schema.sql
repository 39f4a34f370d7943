{# The schema of the objects of the whole project: the target's, or with `as_of` its past state's. #}
{% macro project_schema() -%}
    {{ return(adapter.schema_name(target.schema, var('as_of', none), var('before', none), var('after', none))) }}
{%- endmacro %}
