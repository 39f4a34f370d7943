{#
    dbt's own rule for schemas, spelled as the metastore spells it: there the case of letters
    makes no difference, and the versions of `Sales` are those of `sales`.
#}
{% macro secure_spark__generate_schema_name(custom_schema_name, node) -%}
    {{ adapter.schema_name(default__generate_schema_name(custom_schema_name, node) | trim) }}
{%- endmacro %}
