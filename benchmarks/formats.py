"""Parquet against Iceberg: writing a base, one user's queries, and switching a view.

    .venv-spark-3.5/bin/python benchmarks/formats.py [ROWS ...]

Needs what `make test-lakehouse` sets up. The same rows in Parquet, in one folder and in
several, and in Iceberg's buckets, each through a view, in turns: for a user with few
keys, one with more and one with all of them, against the filter by hand on the rows in
one folder. Sizes are asked one after the other: 5 million rows and 40 million, if none
is named.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from folders import ADMIN, ASKED
from layouts import ACCESS, BASE, SOURCES, USERS, join
from measure import in_turns, reading
from pyspark.sql import SparkSession
from workspace import output_in

from dbt_secure_spark.folders import Buckets, Folders, number_for
from dbt_secure_spark.session import start_session

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from lakehouse import of_iceberg

SIZES = (5_000_000, 40_000_000)
KEY = "data_source_id"
ONE, FOLDERS, ICEBERG = "Parquet, one folder", "Parquet, folders", "Iceberg, buckets"
TABLES = {ONE: "in_one", FOLDERS: "in_folders", ICEBERG: "lake.store.in_buckets"}
# The access view is stored in the format of its base.
OF_USERS = {ONE: "access", FOLDERS: "access", ICEBERG: "lake.store.access"}
SWITCHES = 20
WARMING_UP = 200_000


def write(spark: SparkSession, kind: str, rows: int) -> float:
    """Write the base of one kind as a run does; return the seconds."""
    table, number = TABLES[kind], number_for(rows)
    spark.sql(f"drop table if exists {table}{' purge' if kind == ICEBERG else ''}")
    query, layout = BASE.format(rows=rows), f"using parquet as {{}} cluster by {KEY}"
    if kind == FOLDERS:
        folders = Folders(KEY, number)
        query = f"select *, {folders.of_row} as {folders.column} from ({query})"
        layout = (
            f"using parquet partitioned by ({folders.column}) as {{}}"
            f" distribute by {folders.column} sort by {folders.column}, {KEY}"
        )
    elif kind == ICEBERG:
        buckets = Buckets(KEY, number, "lake")
        properties = ", ".join(f"'{k}' = '{v}'" for k, v in buckets.properties.items())
        layout = (
            f"using iceberg tblproperties ({properties})"
            f" partitioned by ({buckets.clause}) as select * from ({{}})"
            f" distribute by {buckets.place} sort by {buckets.place}, {KEY}"
        )
    started = time.monotonic()
    spark.sql(f"create table {table} {layout.format(query)}")
    return time.monotonic() - started


def pinned(spark: SparkSession, table: str) -> str:
    """Return a table as a view names it: one of Iceberg's with its snapshot."""
    if not table.startswith("lake."):
        return table
    ((snapshot,),) = spark.sql(f"select snapshot_id from {table}.snapshots").collect()
    return f"{table} version as of {snapshot}"


def switched(spark: SparkSession, kind: str) -> float:
    """Point a view at the base, and read the view back; return the seconds.

    A run knows the snapshot from the count of the rows.
    """
    shown = pinned(spark, TABLES[kind])
    started = time.monotonic()
    for _ in range(SWITCHES):
        spark.sql(f"create or replace view shown as select * from {shown}")
        spark.sql("describe extended shown").collect()
    return (time.monotonic() - started) / SWITCHES


def asked(spark: SparkSession, kind: str, user: int, columns: str) -> str:
    """Return the query of a secure dataset, over the base of one kind."""
    also = ""
    if kind == FOLDERS:
        folders = Folders(KEY, number_for(spark.table(TABLES[kind]).count()))
        of_key = folders.of("access.meta_data_source_id", 0)
        also = f"and base.{folders.column} = {of_key}"
    view = f"base_of_{list(TABLES).index(kind)}"
    spark.sql(
        f"create or replace view {view} as select * from {pinned(spark, TABLES[kind])}"
    )
    query = join(view, OF_USERS[kind], also=also).replace("base.*", columns)
    return f"select * from ({query}) where user_id = {user}"


def weigh(spark: SparkSession, rows: int) -> None:
    """Print what each kind costs at so many rows."""
    written = {kind: write(spark, kind, rows) for kind in TABLES}
    switches = in_turns({k: lambda k=k: switched(spark, k) for k in TABLES}, rounds=5)
    for what, taken in (("writing", written), ("switching a view", switches)):
        for kind, seconds in taken.items():
            ratio = seconds / taken[ONE]
            print(f"| {rows:,} | {what} | {kind} | {seconds:.2f} s | {ratio:.2f}x |")
    columns = ", ".join(f"base.{name}" for name in spark.table(TABLES[ONE]).columns)
    for user, name in ASKED.items():
        held = spark.sql(
            f"select meta_data_source_id from access where user_id = {user}"
        ).collect()
        keys = ", ".join(str(key) for (key,) in held)
        queries = {
            "by hand": f"select * from {TABLES[ONE]} where {KEY} in ({keys})",
            **{kind: asked(spark, kind, user, columns) for kind in TABLES},
        }
        if len({spark.sql(query).count() for query in queries.values()}) != 1:
            sys.exit(f"{name}: the rows differ")
        works = {kind: reading(spark, query) for kind, query in queries.items()}
        for kind, seconds in (taken := in_turns(works, rounds=7)).items():
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
        admin = f"select id + 1, {ADMIN}, 'Group' from range({SOURCES})"
        access = f"{ACCESS.format(users=USERS)} union all {admin} cluster by user_id"
        for table, form in (("access", "parquet"), ("lake.store.access", "iceberg")):
            spark.sql(f"create table {table} using {form} as {access}")
        spark.sql("analyze table access compute statistics for columns user_id")
        spark.sql(
            "call lake.system.compute_table_stats(table => 'store.access',"
            " columns => array('user_id'))"
        )
        print(f"Spark {spark.version}")
        print("| rows | what | stored | time | ratio |")
        print("|--:|---|---|--:|--:|")
        # The first one must not pay for warming up.
        for kind in TABLES:
            write(spark, kind, WARMING_UP)
        for rows in sizes:
            weigh(spark, rows)


if __name__ == "__main__":
    main()
