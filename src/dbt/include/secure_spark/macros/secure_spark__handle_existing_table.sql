{# What stands in the place of a view is not this project's, and is not dropped for it. #}
{% macro secure_spark__handle_existing_table(full_refresh, old_relation) -%}
    {%- do adapter.definition_of(old_relation) -%}
{%- endmacro %}
