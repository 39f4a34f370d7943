{#
    The Python that runs a compiled model and writes its result as a version.

    relation       the version's table
    compiled_code  the model's code, with what dbt adds to it
#}
{% macro write_python_version(relation, compiled_code) -%}
{%- set columns = config.get('cluster_by') -%}
{{ compiled_code }}

# Added by the published_view materialization.
result = model(dbtObj(spark.table), spark)
{%- if columns %}
columns = {{ columns | tojson }}
result = result.repartition(*columns).sortWithinPartitions(*columns)
{%- endif %}
result.write.format("{{ config.get('file_format', 'parquet') }}").saveAsTable("{{ relation }}")
{%- endmacro %}
