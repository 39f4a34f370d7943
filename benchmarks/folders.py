"""Measure folders by a key's remainder: what one user's query saves, what they cost.

    python benchmarks/folders.py [ROWS ...]

The same rows in one folder and in several, asked in turns by a user with few keys, one
with more and one with all of them, against the filter by hand on the rows in one; once
as rows of one key, and once with a switch, which says by which of two keys a row is
seen. Sizes are asked in a row: 5 million rows and 16 million, if none is named.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from layouts import ACCESS, BASE, SOURCES, USERS, join
from measure import rows_read, weighed
from pyspark.sql import SparkSession
from workspace import Workspace

from dbt_secure_spark.folders import Folders
from dbt_secure_spark.formats import ANALYZE

SIZES = (5_000_000, 16_000_000)
NUMBERS = (1, 64, 256)
# The user with every key.
ADMIN = USERS + 1
ASKED = {2: "few keys", 1: "more keys", ADMIN: "all keys"}


@dataclass(frozen=True)
class Base:
    """Rows of one kind: by one key, or with a switch by the key of each case."""

    name: str
    key: str
    cases: tuple[tuple[str, str], ...] = ()

    def folders(self, number: int) -> Folders:
        """The folders of the rows, so many for each key."""
        return Folders(self.key, number, self.cases)

    def table(self, number: int) -> str:
        """The table of the rows in so many folders."""
        return f"{self.name}_in_{number}"

    @property
    def branches(self) -> list[tuple[str, str]]:
        """The condition of each case, and the key that shows its rows."""
        told = [(f"base.{self.key} = '{value}'", key) for value, key in self.cases]
        return told or [("true", self.key)]

    def asked_in(self, number: int, columns: str) -> str:
        """The query that a secure dataset renders, over the rows in so many folders."""
        folders, queries = self.folders(number), []
        for case, (condition, key) in enumerate(self.branches):
            of_key = folders.of("access.meta_data_source_id", case)
            also = f"and base.{folders.column} = {of_key}" if number > 1 else ""
            query = join(self.table(number), "access", key=key, also=also)
            queries.append(f"{query.replace('base.*', columns)} where {condition}")
        return " union all ".join(queries)

    def by_hand(self, keys: str) -> str:
        """The filter with a user's keys as literals, over the rows in one folder."""
        conditions = [f"({held} and {key} in ({keys}))" for held, key in self.branches]
        return f"select * from {self.table(1)} as base where {' or '.join(conditions)}"


BASES = (
    Base("base", "data_source_id"),
    Base(
        "switched",
        "context",
        (("Project", "project_id"), ("Data Source", "data_source_id")),
    ),
)


def write(spark: SparkSession, base: Base, rows: int, number: int) -> float:
    """Write the rows in so many folders; return the seconds."""
    spark.sql(f"drop table if exists {base.table(number)}")
    folders = base.folders(number)
    query, partitioned = BASE.format(rows=rows), ""
    by = ", ".join(dict.fromkeys([base.key, *folders.keys]))
    layout = f"cluster by {by}"
    if number > 1:
        query = f"select *, {folders.of_row} as {folders.column} from ({query})"
        partitioned = f"partitioned by ({folders.column})"
        layout = f"distribute by {folders.column} sort by {folders.column}, {by}"
    started = time.monotonic()
    spark.sql(
        f"create table {base.table(number)} using parquet {partitioned} as {query}"
        f" {layout}"
    )
    return time.monotonic() - started


def keys_of(spark: SparkSession, user: int) -> list[int]:
    """Return the keys that a user holds."""
    query = f"select meta_data_source_id from access where user_id = {user}"
    return [key for (key,) in spark.sql(query).collect()]


def make_access(
    spark: SparkSession, table: str = "access", form: str = "parquet"
) -> None:
    """Make the access of all users, and of one who holds every key."""
    admin = f"select id + 1, {ADMIN}, 'Group' from range({SOURCES})"
    access = f"{ACCESS.format(users=USERS)} union all {admin}"
    spark.sql(f"create table {table} using {form} as {access} cluster by user_id")


def weigh(spark: SparkSession, base: Base, rows: int) -> None:
    """Print what each user's query costs in each layout of so many rows."""
    of = f"| {base.name} | {rows:,} |"
    written = {number: write(spark, base, rows, number) for number in NUMBERS}
    for number, taken in written.items():
        ratio = taken / written[1]
        print(f"{of} writing | {number} | | {taken:.1f} s | {ratio:.2f}x |")
    names = spark.table(base.table(1)).columns
    columns = ", ".join(f"base.{name}" for name in names)
    for user, kind in ASKED.items():
        held = keys_of(spark, user)
        by_hand = base.by_hand(", ".join(map(str, held)))
        asked = {
            number: f"select * from ({base.asked_in(number, columns)})"
            f" where user_id = {user}"
            for number in NUMBERS
        }
        queries = {"by hand": by_hand} | asked
        seconds = weighed(spark, f"{base.name}, {kind}", queries)
        hand = seconds["by hand"]
        print(f"{of} {kind}: {len(held):,} | by hand | | {hand:.3f} s | |")
        for number, query in asked.items():
            share = rows_read(spark, query, columns=len(names)) / rows
            print(
                f"{of} {kind}: {len(held):,} | {number} | {share:.0%}"
                f" | {seconds[number]:.3f} s | {seconds[number] / hand:.2f}x |",
                flush=True,
            )


def main() -> None:
    """Build the access, and weigh each size."""
    sizes = [int(each) for each in sys.argv[1:]] or SIZES
    spark = Workspace().reader()
    make_access(spark)
    spark.sql(ANALYZE.format(table="access", columns="user_id"))
    print("| table | rows | user, keys | folders | read | time | of by hand |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for base in BASES:
        for rows in sizes:
            weigh(spark, base, rows)


if __name__ == "__main__":
    main()
