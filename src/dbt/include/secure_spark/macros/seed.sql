{#
    Loads a seed's CSV as it stands and publishes it like every stored relation. Replaces
    dbt-spark's seed materialization, which corrupts text under the session method: here
    Python's csv module reads the file in the session and no value goes through SQL text.

    Every column is text, unless column_types gives it a type, which every value must then
    fit. An empty field is null.
#}
{% materialization seed, adapter='secure_spark' %}
    {%- set begun = begin_version() -%}
    {%- call statement('main', language='python') -%}
        {{ _write_seed_version(begun.version) }}
    {%- endcall -%}
    {{ publish_rows(begun) }}
    {# dbt loads what is stored under this name. #}
    {% do store_result('agate_table', response='OK') %}

    {{ return({'relations': [begun.relation]}) }}
{% endmaterialization %}


{# The Python code that reads the seed's file and writes its rows as a version. #}
{% macro _write_seed_version(relation) -%}
import csv
import json
from pathlib import Path

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

path = Path({{ model.root_path | tojson }}, {{ model.original_file_path | tojson }})
types = {{ config.get('column_types', {}) | tojson }}
# Python's own limit of a field is 131,072 characters.
csv.field_size_limit(2**31 - 1)
with path.open(encoding="utf-8-sig", newline="") as file:
    lines = list(csv.reader(file, delimiter={{ config.get('delimiter', ',') | tojson }}))
if not lines:
    raise ValueError(f"{path.name} is empty: its first line names the columns")
header, *lines = lines
# As the engine compares them.
if len({name.lower() for name in header}) != len(header):
    raise ValueError(f"{path.name} names a column twice: {', '.join(header)}")
for number, line in enumerate(lines, start=1):
    if len(line) != len(header):
        raise ValueError(
            f"row {number} of {path.name} has {len(line)} fields, its header {len(header)}"
        )
schema = ArrayType(StructType([StructField(name, StringType()) for name in header]))
rows = [
    {name: value or None for name, value in zip(header, line)} for line in lines
]
# As one JSON literal: createDataFrame would start Python workers to hand the rows over.
result = spark.range(1).select(F.inline(F.from_json(F.lit(json.dumps(rows)), schema)))
for name, data_type in types.items():
    quoted = name.replace("`", "``")
    typed = F.expr(f"try_cast(`{quoted}` as {data_type})")
    message = F.concat(F.lit(f"{path.name}: not a {data_type} in {name}: "), F.col(name))
    result = result.withColumn(
        name,
        F.when(F.col(name).isNotNull() & typed.isNull(), F.raise_error(message))
        .otherwise(typed),
    )
result.coalesce(1).write.format("{{ config.get('file_format', 'parquet') }}").saveAsTable("{{ relation }}")
{%- endmacro %}
