{# Whether the raw tables are the sample's. Schemas are compared as the metastore compares them. #}
{% macro reads_sample() %}
    {{ return(var('raw_schema') | lower == var('sample_schema') | lower) }}
{% endmacro %}
