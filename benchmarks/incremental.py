"""What a run would cost that reads again only the executions that are new.

    python benchmarks/incremental.py [NAME=NUMBER ...]

Generates a world (the names are those of generate.Sizes), and delivers one execution in
400 more: half of them new, half of them anew with a later time. Staging and the base of
executions are written in turns

- whole, as a run does;
- of the delivered ids alone, with all their deliveries: what versions would cost that
  share the files of the rows that stay;
- of the delivered ids, and the other rows copied from the version before.

The last must give the rows of the first.
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
from pyspark.sql import DataFrame, SparkSession
from workspace import FOLDER, SCHEMA, Workspace

STAGED, BASE = "stg_test_executions", "vw_dataset_test_executions"
RAW = f"{RAW_SCHEMA}.test_executions"
KEY = "test_execution_id"
SHARE = 400
LATER = "2027-01-01 02:00:00"
# The base lies by its key.
BY_KEY = "project_id"
COMPILED = FOLDER / "target/local/compiled/secure_datasets/models"
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


def written(rows: DataFrame, table: str, by_key: bool) -> None:
    """Write rows into a table, in the order in which a base lies if told."""
    if by_key:
        rows = rows.repartition(BY_KEY).sortWithinPartitions(BY_KEY)
    rows.write.mode("overwrite").format("parquet").saveAsTable(table)


def ways(spark: SparkSession, name: str, text: str) -> dict[str, Callable[[], float]]:
    """Return what writes a relation in each of the ways, staging before the base."""
    delivered = f"(select * from {RAW} where id in (select id from delivered))"
    others = (
        f"select * from before_{name} where {KEY} not in"
        " (select cast(id as bigint) from delivered)"
    )

    def make(number: int) -> float:
        raw = delivered if number else RAW
        query = re.sub(rf"\b{re.escape(RAW)}\b", raw, text)
        staged = f"made_{STAGED}_{min(number, 1)}"
        query = re.sub(rf"\b{SCHEMA}\.{STAGED}\b", staged, query)
        started = time.monotonic()
        rows = spark.sql(query)
        if number == WAYS.index(COPIED):
            rows = rows.unionByName(spark.sql(others))
        written(rows, f"made_{name}_{number}", name == BASE)
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
    texts = {
        STAGED: (COMPILED / f"staging/{STAGED}.sql").read_text(),
        BASE: (COMPILED / f"datasets/{BASE}.sql").read_text(),
    }
    for name in texts:
        written(spark.table(f"{SCHEMA}.{name}"), f"before_{name}", name == BASE)
    deliver(spark, sizes.executions)
    taken = {name: in_turns(ways(spark, name, text)) for name, text in texts.items()}
    for name in texts:
        whole, copied = (spark.table(f"made_{name}_{number}") for number in (0, 2))
        if whole.count() != copied.count() or whole.exceptAll(copied).count():
            sys.exit(f"{name}: the rows differ")
    print(f"{sizes.executions:,} executions, {sizes.executions // SHARE:,} delivered")
    for name, seconds in taken.items():
        for way, each in seconds.items():
            ratio = each / seconds[WAYS[0]]
            print(f"| {name} | {way} | {each:.1f} s | {ratio:.2f}x |", flush=True)
    shutil.rmtree(FOLDER / "spark")


if __name__ == "__main__":
    main()
