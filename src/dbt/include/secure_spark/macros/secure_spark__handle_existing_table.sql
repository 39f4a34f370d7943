{# Fails if a relation with the view's name is not this project's: it is not dropped for the view. #}
{% macro secure_spark__handle_existing_table(full_refresh, old_relation) -%}
    {%- do adapter.definition_of(old_relation) -%}
{%- endmacro %}
