{#
    The Python that runs a compiled model and writes its result as a version.

    relation       the version's table
    compiled_code  the model's code, with dbt's additions
    folders        the folders or buckets of the version, or none
    files          the number of its files, or none
#}
{% macro write_python_version(relation, compiled_code, folders=none, files=none) -%}
{%- set columns = config.get('cluster_by') -%}
{{ compiled_code }}

# Added by the published_view materialization.
{%- set whole = adapter.whole_versions(graph, model) %}
{%- if whole %}
# The rows of any time, whatever holds now.
whole = {{ whole | tojson }}
result = model(dbtObj(lambda name: spark.table(whole.get(name.replace("`", "").lower(), name))), spark)
{%- else %}
result = model(dbtObj(spark.table), spark)
{%- endif %}
{%- if columns %}
columns = {{ columns | tojson }}
{%- if folders %}
{{ _lay_in_folders(folders) }}
{%- else %}
result = result.repartition({{ files ~ ', ' if files }}*columns).sortWithinPartitions(*columns)
{%- endif %}
{%- endif %}
{%- if folders and not folders.column %}
{{ _save_in_buckets(relation, folders) }}
{%- else %}
writer = result.write.format("{{ config.get('file_format', 'parquet') }}")
{%- if folders %}
writer = writer.partitionBy(folder)
{%- endif %}
writer.saveAsTable("{{ relation }}")
{%- endif %}
{%- endmacro %}


{# The Python that checks the keys of a result and sorts its rows by folder or bucket. #}
{% macro _lay_in_folders(folders) -%}
kinds = dict(result.dtypes)
for key in {{ folders.keys | tojson }}:
    if kinds.get(key) not in {{ folders.kinds | tojson }}:
        raise ValueError({{ model.name | tojson }} + " is documented with a whole number as " + key + ", by which it lies in folders, and returns something else")
{%- if folders.cases %}
if kinds.get({{ folders.key | tojson }}) != "string":
    raise ValueError({{ (model.name ~ ' is documented with a string as ' ~ folders.key ~ ', by whose values it lies in folders, and returns something else') | tojson }})
{%- endif %}
{%- if folders.column %}
folder = {{ folders.column | tojson }}
result = result.selectExpr("*", {{ (folders.of_row ~ ' as `' ~ folders.column ~ '`') | tojson }})
{%- else %}
from pyspark.sql import functions as F
folder = F.expr({{ folders.place | tojson }})
{%- endif %}
result = result.repartition(folder).sortWithinPartitions(folder, *columns)
{%- endmacro %}


{# The Python that writes a result in Iceberg's buckets, after `_lay_in_folders`, which imports `F`. #}
{% macro _save_in_buckets(relation, buckets) -%}
writer = result.writeTo("{{ relation }}").using("iceberg")
for name, value in {{ dict(buckets.properties, **config.get('tblproperties') or {}) | tojson }}.items():
    writer = writer.tableProperty(name, value)
writer.partitionedBy(F.bucket({{ buckets.number }}, {{ buckets.key | tojson }})).create()
{%- endmacro %}
