"""How access and bases could be laid out, and what one user's query then costs.

    python benchmarks/layouts.py [ROWS]

The same rows in each layout, a data source tier of 2,000 data sources and 50,000 users,
one user's query in turns: the layouts that were weighed, against the filter by hand.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench import in_turns, reading
from place import Place
from pyspark.sql import SparkSession

SOURCES = 2_000
USERS = 50_000
BUCKETS = 8
# Of the hashed key: a user's few keys then lie in few folders.
PARTITIONS = 64
# How many keys the users asked for have.
KEYS = (4, 40)
BASE = f"""
    select
        pmod(id, {SOURCES}) + 1 as data_source_id,
        concat('source_', pmod(id, {SOURCES})) as data_source_name,
        id as row_id,
        concat('schema_', pmod(id, {SOURCES * 4})) as schema_name,
        concat('table_', id div 10) as table_name,
        concat('column_', id) as column_name,
        concat('source.schema.table_', id div 10, '.column_', id) as full_path,
        'int' as data_type
    from range({{rows}})
"""
# Half the users hold few keys, half of them more.
ACCESS = f"""
    select distinct
        pmod(xxhash64(users.id, keys.id), {SOURCES}) + 1 as meta_data_source_id,
        users.id as user_id,
        'Group' as access_type
    from range(1, {USERS + 1}) as users
    inner join range({max(KEYS)}) as keys
        on keys.id < if(users.id % 2 = 0, {min(KEYS)}, {max(KEYS)})
"""
TABLES = {
    "base": "using parquet as {base} cluster by data_source_id",
    "access": "using parquet as {access} cluster by user_id",
    "access_by_user": (
        "using parquet clustered by (user_id) sorted by (user_id)"
        f" into {BUCKETS} buckets as {{access}} distribute by user_id"
    ),
    "base_by_key": (
        f"using parquet clustered by (data_source_id) into {BUCKETS} buckets"
        " as {base} distribute by data_source_id"
    ),
    "access_by_key": (
        "using parquet clustered by (meta_data_source_id) sorted by (user_id)"
        f" into {BUCKETS} buckets as {{access}} distribute by meta_data_source_id"
    ),
    "base_in_folders": (
        "using parquet partitioned by (part) as"
        f" select *, pmod(hash(data_source_id), {PARTITIONS}) as part from ({{base}})"
        " distribute by part sort by part, data_source_id"
    ),
    "access_in_folders": (
        "using parquet as"
        f" select *, pmod(hash(meta_data_source_id), {PARTITIONS}) as part"
        " from ({access}) cluster by user_id"
    ),
}


def join(base: str, access: str, hint: str = "", also: str = "") -> str:
    """The query that a secure dataset renders, over one layout."""
    return (
        f"select * from (select {hint} base.*, access.user_id, access.access_type"
        f" from {base} as base inner join {access} as access"
        f" on base.data_source_id = access.meta_data_source_id {also})"
    )


LAYOUTS = {
    "as it is": join("base", "access"),
    "access in buckets by user": join("base", "access_by_user"),
    "both in buckets by key": join(
        "base_by_key", "access_by_key", hint="/*+ shuffle_hash(access) */"
    ),
    "base in folders by hashed key": join(
        "base_in_folders", "access_in_folders", also="and base.part = access.part"
    ),
}


def without(
    spark: SparkSession, setting: str, work: Callable[[], float]
) -> Callable[[], float]:
    """Return the work with one of Spark's settings off."""

    def work_without() -> float:
        spark.conf.set(setting, "false")
        try:
            return work()
        finally:
            spark.conf.unset(setting)

    return work_without


def main() -> None:
    """Build the layouts, ask, and print the ratios."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    spark = Place().spark
    for name, statement in TABLES.items():
        text = statement.format(base=BASE.format(rows=rows), access=ACCESS)
        spark.sql(f"create table {name} {text}")
    for user, kind in ((2, "few keys"), (1, "more keys")):
        held = spark.sql(
            f"select meta_data_source_id from access where user_id = {user}"
        ).collect()
        keys = ", ".join(str(key) for (key,) in held)
        by_hand = f"select * from base where data_source_id in ({keys})"
        works = {"by hand": reading(spark, by_hand)}
        for layout, query in LAYOUTS.items():
            works[layout] = reading(spark, f"{query} where user_id = {user}")
        works["as it is, not adapted"] = without(
            spark, "spark.sql.adaptive.enabled", works["as it is"]
        )
        seconds = in_turns(works)
        for layout, taken in seconds.items():
            times = taken / seconds["by hand"]
            print(f"{rows:>9,} rows, {kind:9} {layout:30} {taken:6.3f} s {times:5.2f}x")


if __name__ == "__main__":
    main()
