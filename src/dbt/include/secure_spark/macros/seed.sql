{#
    Loads a seed's CSV as it stands and publishes it like every stored relation. Replaces
    dbt-spark's seed materialization, which corrupts text under the session method: here
    Python's csv module reads the file in dbt's process and no value goes through SQL text.

    Every column is text, unless column_types gives it a type, which every value must then
    fit. An empty field is null.
#}
{% materialization seed, adapter='secure_spark' %}
    {%- set begun = begin_version() -%}
    {%- call statement('main', language='python') -%}
        {{ _write_seed_version(adapter.table_of(begun.version)) }}
    {%- endcall -%}
    {{ publish_rows(begun) }}
    {# dbt loads the result with this name. #}
    {% do store_result('agate_table', response='OK') %}

    {{ return({'relations': [begun.relation]}) }}
{% endmaterialization %}


{# The Python code that writes the seed's rows as a version. It may run where the file is not. #}
{% macro _write_seed_version(relation) -%}
import json

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

types = {{ config.get('column_types', {}) | tojson }}
seed = json.loads({{ adapter.seed_text(model, config.get('delimiter', ',')) | tojson }})
fields = [StructField(name, StringType()) for name in seed["header"]]
schema = ArrayType(StructType(fields))
# As one JSON literal: createDataFrame would start Python workers to hand the rows over.
rows = json.dumps(seed["rows"])
result = spark.range(1).select(F.inline(F.from_json(F.lit(rows), schema)))
for name, data_type in types.items():
    quoted = name.replace("`", "``")
    typed = F.expr(f"try_cast(`{quoted}` as {data_type})")
    message = F.concat(F.lit(f"{seed['file']}: not a {data_type} in {name}: "), F.col(name))
    result = result.withColumn(
        name,
        F.when(F.col(name).isNotNull() & typed.isNull(), F.raise_error(message))
        .otherwise(typed),
    )
result.coalesce(1).write.format("{{ config.get('file_format', 'parquet') }}").saveAsTable("{{ relation }}")
{%- endmacro %}
