"""What staging would cost that reads again only the executions that are new.

    python benchmarks/incremental.py [NAME=NUMBER ...]

Generates a world (the names are those of generate.Sizes), and delivers one execution in
400 more: half of them new, half of them anew with a later time. The staged executions
are written in turns

- whole, as a run does;
- of the delivered ids alone, with all their deliveries: what versions would cost that
  share the files of the rows that stay;
- of the delivered ids, and the other rows copied from the version before, which must
  give the rows of the first.

Then it counts the rows of the base that the delivery changes: executions are numbered
within their test.
"""

from __future__ import annotations

import re
import shutil
import sys
import time
from collections.abc import Callable
from functools import partial

from bench import OWN_SEEDS, RAW_SCHEMA, sizes_of
from generate import generate
from measure import in_turns
from pyspark.sql import SparkSession
from workspace import FOLDER, SCHEMA, Workspace

STAGED, BASE = "stg_test_executions", "vw_dataset_test_executions"
RAW = f"{RAW_SCHEMA}.test_executions"
KEY = "test_execution_id"
SHARE = 400
LATER = "2027-01-01 02:00:00"
TEST = "test_id"
COMPILED = FOLDER / f"target/local/compiled/secure_datasets/models/staging/{STAGED}.sql"
COPIED = "the delivered ids, and the others copied"
WAYS = ("whole", "the delivered ids", COPIED)


def deliver(spark: SparkSession, executions: int) -> None:
    """Add a delivery to the raw table, and name its ids in `delivered`."""
    columns = spark.table(RAW).columns
    half = executions // SHARE // 2
    told = {
        "id": f"if(id <= {half}, id, id + {executions} - {half})",
        "date_modified": f"'{LATER}'",
        "sf_date_created": f"'{LATER}'",
    }
    listed = ", ".join(f"{told.get(name, name)} as {name}" for name in columns)
    new = spark.sql(f"select {listed} from {RAW} where id <= {2 * half}")
    types = spark.table(RAW).dtypes
    new = new.select([new[name].cast(kind) for name, kind in types])
    new.write.mode("overwrite").saveAsTable("delivery")
    spark.table("delivery").write.insertInto(RAW)
    spark.sql(
        "create or replace temp view delivered as select distinct id from delivery"
    )


def ways(spark: SparkSession, text: str) -> dict[str, Callable[[], float]]:
    """Return what writes the staged relation in each of the ways, by its query."""
    delivered = f"(select * from {RAW} where id in (select id from delivered))"
    others = (
        f"select * from {SCHEMA}.{STAGED} where {KEY} not in"
        " (select cast(id as bigint) from delivered)"
    )

    def make(number: int) -> float:
        raw = delivered if number else RAW
        started = time.monotonic()
        rows = spark.sql(re.sub(rf"\b{re.escape(RAW)}\b", raw, text))
        if WAYS[number] == COPIED:
            rows = rows.unionByName(spark.sql(others))
        rows.write.mode("overwrite").format("parquet").saveAsTable(f"made_{number}")
        return time.monotonic() - started

    return {way: partial(make, number) for number, way in enumerate(WAYS)}


def main() -> None:
    """Measure, compare the rows, and print a table."""
    sizes = sizes_of(sys.argv[1:])
    workspace = Workspace()
    spark = workspace.spark
    workspace.dbt("seed", *OWN_SEEDS, raw_schema=RAW_SCHEMA)
    generate(spark, RAW_SCHEMA, sizes)
    workspace.dbt("run", "--select", f"+{BASE}", raw_schema=RAW_SCHEMA)
    deliver(spark, sizes.executions)
    seconds = in_turns(ways(spark, COMPILED.read_text()))
    whole, copied = spark.table("made_0"), spark.table("made_2")
    if whole.count() != copied.count() or whole.exceptAll(copied).count():
        sys.exit("the rows differ")
    print(f"{sizes.executions:,} executions, {sizes.executions // SHARE:,} delivered")
    for way, taken in seconds.items():
        print(f"| {way} | {taken:.1f} s | {taken / seconds[WAYS[0]]:.2f}x |")
    (changed,) = spark.sql(
        f"select count_if({TEST} in (select {TEST} from made_1)) / count(*) from made_0"
    ).first()
    print(f"{changed:.0%} of the base's rows are of a test with a delivered execution")
    shutil.rmtree(FOLDER / "spark")


if __name__ == "__main__":
    main()
