{# Whether a relation that is built again keeps its grants: here views are altered in place. #}
{% macro secure_spark__copy_grants() -%}
{{ return(true) }}
{%- endmacro %}
