{# The bank's own raw tables lie beside the sample's: a configured schema is taken as it stands. #}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ secure_datasets.generate_schema_name(custom_schema_name, node) }}
{%- endmacro %}
