"""What folders by a key's remainder spare one user's query, and what they cost.

    python benchmarks/folders.py [ROWS ...]

The same rows in one folder and in several, asked in turns by a user with few keys, one
with more and one with all of them, against the filter by hand on the rows in one. Sizes
are asked one after the other: 5 million rows and 16 million, if none is named.
"""

from __future__ import annotations

import sys
import time

from bench import in_turns, reading, rows_read
from layouts import ACCESS, BASE, SOURCES, USERS, join
from pyspark.sql import SparkSession
from workspace import Workspace

from dbt_spark_session.folders import Folders

SIZES = (5_000_000, 16_000_000)
NUMBERS = (1, 64, 256)
# Who holds every key.
ADMIN = USERS + 1
ASKED = {2: "few keys", 1: "more keys", ADMIN: "all keys"}


def table(number: int) -> str:
    """The table of the rows in so many folders."""
    return f"base_in_{number}"


def write(spark: SparkSession, rows: int, number: int) -> float:
    """Write the rows in so many folders; return the seconds."""
    spark.sql(f"drop table if exists {table(number)}")
    folders = Folders("data_source_id", number)
    query, layout = BASE.format(rows=rows), "cluster by data_source_id"
    partitioned = ""
    if number > 1:
        query = (
            f"select *, {folders.of(folders.key)} as {folders.column} from ({query})"
        )
        partitioned = f"partitioned by ({folders.column})"
        layout = (
            f"distribute by {folders.column} sort by {folders.column}, {folders.key}"
        )
    started = time.monotonic()
    spark.sql(
        f"create table {table(number)} using parquet {partitioned} as {query} {layout}"
    )
    return time.monotonic() - started


def asked_in(number: int, columns: str) -> str:
    """The query that a secure dataset renders, over the rows in so many folders."""
    folders = Folders("data_source_id", number)
    also = f"and base.{folders.column} = {folders.of('access.meta_data_source_id')}"
    query = join(table(number), "access", also=also if number > 1 else "")
    return query.replace("base.*", columns)


def weigh(spark: SparkSession, rows: int) -> None:
    """Print what each user's query costs in each layout of so many rows."""
    written = {number: write(spark, rows, number) for number in NUMBERS}
    for number, taken in written.items():
        ratio = taken / written[1]
        print(f"| {rows:,} | writing | {number} | | {taken:.1f} s | {ratio:.2f}x |")
    names = spark.table(table(1)).columns
    columns = ", ".join(f"base.{name}" for name in names)
    for user, kind in ASKED.items():
        held = spark.sql(
            f"select meta_data_source_id from access where user_id = {user}"
        ).collect()
        keys = ", ".join(str(key) for (key,) in held)
        by_hand = f"select * from {table(1)} where data_source_id in ({keys})"
        asked = {
            number: f"select * from ({asked_in(number, columns)})"
            f" where user_id = {user}"
            for number in NUMBERS
        }
        counts = {spark.sql(query).count() for query in (by_hand, *asked.values())}
        if len(counts) != 1:
            sys.exit(f"{kind}: the rows differ: {counts}")
        works = {number: reading(spark, query) for number, query in asked.items()}
        seconds = in_turns({"by hand": reading(spark, by_hand)} | works)
        hand = seconds["by hand"]
        print(f"| {rows:,} | {kind}: {len(held):,} | by hand | | {hand:.3f} s | |")
        for number, query in asked.items():
            share = rows_read(spark, query, columns=len(names)) / rows
            print(
                f"| {rows:,} | {kind}: {len(held):,} | {number} | {share:.0%}"
                f" | {seconds[number]:.3f} s | {seconds[number] / hand:.2f}x |",
                flush=True,
            )


def main() -> None:
    """Build the access, and weigh each size."""
    sizes = [int(each) for each in sys.argv[1:]] or SIZES
    spark = Workspace().reader()
    admin = f"select id + 1, {ADMIN}, 'Group' from range({SOURCES})"
    access = f"{ACCESS.format(users=USERS)} union all {admin}"
    spark.sql(f"create table access using parquet as {access} cluster by user_id")
    spark.sql("analyze table access compute statistics for columns user_id")
    print("| rows | user, keys | folders | read | time | of by hand |")
    print("|--:|---|--:|--:|--:|--:|")
    for rows in sizes:
        weigh(spark, rows)


if __name__ == "__main__":
    main()
