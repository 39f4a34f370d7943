{#
    The statement, or the Python code, that writes a version in Iceberg, in buckets. It sorts each
    bucket by `cluster_by`, since Iceberg itself would sort by the bucket alone.

    version        the version's table
    compiled_code  the query, or the model's code with dbt's additions
    buckets        the buckets of the version
#}
{% macro version_in_buckets(version, compiled_code, buckets) -%}
{%- set properties = dict(buckets.properties, **config.get('tblproperties') or {}) -%}
{%- if model['language'] == 'python' -%}
{{ _python_in_buckets(adapter.table_of(version), compiled_code, buckets, properties) }}
{%- else -%}
{%- set query = compiled_code -%}
{%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(compiled_code) }}
    {%- set query = get_select_subquery(compiled_code) -%}
{%- endif -%}
create table {{ version }}
{{ file_format_clause() }}
{{ options_clause() }}
tblproperties ({% for name, value in properties.items() %}'{{ name }}' = '{{ value }}'{{ ', ' if not loop.last }}{% endfor %})
partitioned by ({{ buckets.clause }})
{{ comment_clause() }}
as
select * from (
{{ query }}
) as not_in_buckets
distribute by {{ buckets.of_row }}
sort by {{ buckets.of_row }}, {{ config.get('cluster_by') | join(', ') }}
{%- endif -%}
{%- endmacro %}


{#
    The Python code that runs a compiled model and writes its result as a version in buckets.

    table          the version's table, with its catalog
    compiled_code  the model's code, with dbt's additions
    buckets        the buckets of the version
    properties     the properties of the table
#}
{% macro _python_in_buckets(table, compiled_code, buckets, properties) -%}
{{ compiled_code }}

# Added by the published_view materialization.
from pyspark.sql import functions as F

result = model(dbtObj(spark.table), spark)
if dict(result.dtypes).get({{ buckets.key | tojson }}) not in {{ buckets.kinds | tojson }}:
    raise ValueError({{ (model.name ~ ' is documented with a whole number as ' ~ buckets.key ~ ', by which it lies in buckets, and returns something else') | tojson }})
bucket = F.expr({{ buckets.of_row | tojson }})
result = result.repartition(bucket).sortWithinPartitions(bucket, *{{ config.get('cluster_by') | tojson }})
writer = result.writeTo("{{ table }}").using("iceberg")
for name, value in {{ properties | tojson }}.items():
    writer = writer.tableProperty(name, value)
writer.partitionedBy(F.bucket({{ buckets.number }}, {{ buckets.key | tojson }})).create()
{%- endmacro %}
