"""Parquet against Iceberg: writing a base, one user's queries, and switching a view.

    .venv-spark-3.5/bin/python benchmarks/formats.py [ROWS ...]

Needs what `make test-lakehouse` sets up. The same rows in Parquet, in one folder and in
several, and in Iceberg's buckets, in turns: for a user with few keys, one with more and
one with all of them, against the filter by hand on the rows in one folder. Sizes are
asked in a row: 5 million rows and 40 million, if none is named.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from folders import ASKED, BASES, keys_of, make_access
from folders import write as write_parquet
from layouts import BASE, join
from measure import in_turns, weighed
from pyspark.sql import SparkSession
from workspace import output_in

from dbt_secure_spark.folders import Buckets, number_for
from dbt_secure_spark.formats import ANALYZE, OF_ICEBERG
from dbt_secure_spark.session import start_session

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from lakehouse import of_iceberg

SIZES = (5_000_000, 40_000_000)
ROWS = BASES[0]
IN_ICEBERG, ACCESS_IN_ICEBERG = "lake.store.base", "lake.store.access"
ONE, FOLDERS, BUCKETS = "Parquet, one folder", "Parquet, folders", "Iceberg, buckets"
SWITCHES, WARMING_UP = 20, 200_000


def write(spark: SparkSession, kind: str, rows: int, number: int) -> float:
    """Write the base of one kind as a run does; return the seconds."""
    if kind != BUCKETS:
        return write_parquet(spark, ROWS, rows, 1 if kind == ONE else number)
    spark.sql(f"drop table if exists {IN_ICEBERG} purge")
    buckets = Buckets(ROWS.key, number, "lake")
    properties = ", ".join(f"'{k}' = '{v}'" for k, v in buckets.properties.items())
    started = time.monotonic()
    spark.sql(
        f"create table {IN_ICEBERG} using iceberg tblproperties ({properties})"
        f" partitioned by ({buckets.clause})"
        f" as select * from ({BASE.format(rows=rows)})"
        f" distribute by {buckets.place} sort by {buckets.place}, {ROWS.key}"
    )
    return time.monotonic() - started


def shown(spark: SparkSession, kind: str, number: int) -> str:
    """Return a base as a view names it: one of Iceberg's with its snapshot."""
    if kind != BUCKETS:
        return ROWS.table(1 if kind == ONE else number)
    query = f"select snapshot_id from {IN_ICEBERG}.snapshots"
    ((snapshot,),) = spark.sql(query).collect()
    return f"{IN_ICEBERG} version as of {snapshot}"


def switched(spark: SparkSession, named: str) -> float:
    """Point a view at a base, and read the view back; return the seconds.

    A run knows the snapshot from the count of the rows.
    """
    started = time.monotonic()
    for _ in range(SWITCHES):
        spark.sql(f"create or replace view shown as select * from {named}")
        spark.sql("describe extended shown").collect()
    return (time.monotonic() - started) / SWITCHES


def weigh(spark: SparkSession, rows: int) -> None:
    """Print what each kind costs at so many rows."""
    number, kinds = number_for(rows), (ONE, FOLDERS, BUCKETS)
    written = {kind: write(spark, kind, rows, number) for kind in kinds}
    named = {kind: shown(spark, kind, number) for kind in kinds}
    works = {k: lambda name=name: switched(spark, name) for k, name in named.items()}
    switches = in_turns(works, rounds=5)
    for what, taken in (("writing", written), ("switching a view", switches)):
        for kind, seconds in taken.items():
            ratio = seconds / taken[ONE]
            print(f"| {rows:,} | {what} | {kind} | {seconds:.2f} s | {ratio:.2f}x |")
    spark.sql(f"create or replace view in_buckets as select * from {named[BUCKETS]}")
    columns = ", ".join(f"base.{name}" for name in spark.table(ROWS.table(1)).columns)
    in_iceberg = join("in_buckets", ACCESS_IN_ICEBERG).replace("base.*", columns)
    secure = {
        ONE: ROWS.asked_in(1, columns),
        FOLDERS: ROWS.asked_in(number, columns),
        BUCKETS: in_iceberg,
    }
    for user, name in ASKED.items():
        held = keys_of(spark, user)
        queries = {"by hand": ROWS.by_hand(", ".join(map(str, held)))} | {
            kind: f"select * from ({query}) where user_id = {user}"
            for kind, query in secure.items()
        }
        taken = weighed(spark, name, queries, rounds=7)
        for kind, seconds in taken.items():
            print(
                f"| {rows:,} | {name}: {len(held):,} | {kind} | {seconds:.3f} s"
                f" | {seconds / taken['by hand']:.2f}x |",
                flush=True,
            )


def main() -> None:
    """Build the access, and weigh each size."""
    sizes = [int(each) for each in sys.argv[1:]] or SIZES
    with tempfile.TemporaryDirectory() as folder:
        settings = output_in(Path(folder))["server_side_parameters"]
        spark = start_session(settings | of_iceberg(Path(folder)))
        spark.conf.set("spark.sql.cbo.enabled", "true")
        spark.sql("create schema lake.store")
        make_access(spark)
        make_access(spark, ACCESS_IN_ICEBERG, "iceberg")
        spark.sql(ANALYZE.format(table="access", columns="user_id"))
        counted = {"catalog": "lake", "table": ACCESS_IN_ICEBERG}
        spark.sql(OF_ICEBERG.format(**counted, columns="'user_id'"))
        print(f"Spark {spark.version}")
        print("| rows | what | stored | time | ratio |")
        print("|--:|---|---|--:|--:|")
        # The first one must not pay for warming up.
        for kind in (ONE, FOLDERS, BUCKETS):
            write(spark, kind, WARMING_UP, number_for(SIZES[0]))
        for rows in sizes:
            weigh(spark, rows)


if __name__ == "__main__":
    main()
