"""What folders by a key's remainder spare one user's query, and what they cost.

    python benchmarks/folders.py [ROWS ...]

The same rows in one folder and in several, asked in turns by a user with few keys, one
with more and one with all of them, against the filter by hand on the rows in one; once
as rows of one key, and once with a switch, which says by which of two keys a row is
seen. Sizes are asked one after the other: 5 million rows and 16 million, if none is
named.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from layouts import ACCESS, BASE, SOURCES, USERS, join
from measure import in_turns, reading, rows_read
from pyspark.sql import SparkSession
from workspace import Workspace

from dbt_secure_spark.folders import Folders

SIZES = (5_000_000, 16_000_000)
NUMBERS = (1, 64, 256)
# Who holds every key.
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
        """The condition of each case, and the key by which its rows are seen."""
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
        held = spark.sql(
            f"select meta_data_source_id from access where user_id = {user}"
        ).collect()
        by_hand = base.by_hand(", ".join(str(key) for (key,) in held))
        asked = {
            number: f"select * from ({base.asked_in(number, columns)})"
            f" where user_id = {user}"
            for number in NUMBERS
        }
        counts = {spark.sql(query).count() for query in (by_hand, *asked.values())}
        if len(counts) != 1:
            sys.exit(f"{base.name}, {kind}: the rows differ: {counts}")
        works = {number: reading(spark, query) for number, query in asked.items()}
        seconds = in_turns({"by hand": reading(spark, by_hand)} | works)
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
    admin = f"select id + 1, {ADMIN}, 'Group' from range({SOURCES})"
    access = f"{ACCESS.format(users=USERS)} union all {admin}"
    spark.sql(f"create table access using parquet as {access} cluster by user_id")
    spark.sql("analyze table access compute statistics for columns user_id")
    print("| table | rows | user, keys | folders | read | time | of by hand |")
    print("|---|--:|---|--:|--:|--:|--:|")
    for base in BASES:
        for rows in sizes:
            weigh(spark, base, rows)


if __name__ == "__main__":
    main()
