"""What the raw tables hold, so that a change between two readings is noticed."""

from __future__ import annotations

import zlib
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import DbtRuntimeError

from dbt_spark_session.versions import RawRead, rows_of

PARTITIONS_ARE_ASKED_FOR = "spark.sql.hive.manageFilesourcePartitions"
# As text, moments lose what is less than a thousandth of a second, and their zone, of
# which some have an hour twice.
TO_THE_LAST = (
    "map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS',"
    " 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
)


def table_of(source: dict[str, Any]) -> str:
    """Return how a raw table is called: by its source, wherever that is."""
    return f"{source['source_name']}.{source['name']}".lower()


def columns_of(adapter: SparkAdapter, relation: str) -> list[tuple[str, str]]:
    """Return a relation's columns, quoted, with their types.

    Raises DbtRuntimeError if the session would not read what the relation holds.
    """
    told = rows_of(adapter, f"describe table extended {relation}")
    refuse_other_partitions(adapter, relation, {row[0]: row[1] for row in told})
    columns = []
    for name, kind, *_ in told:
        # What follows the columns describes the partitions, and has no type.
        if not kind:
            break
        columns.append((f"`{str(name).replace('`', '``')}`", str(kind)))
    return columns


def refuse_other_partitions(
    adapter: SparkAdapter, relation: str, told: dict[str, str]
) -> None:
    """Raise if a table's partitions are those of the metastore, which are not asked.

    Then all files below the table's folder would be read: not those of a partition
    that lies elsewhere, and still those of one that was dropped.
    """
    # Of a table of Hive's format the metastore is asked in any case.
    if told.get("Partition Provider") != "Catalog" or told.get("Provider") == "hive":
        return
    (row,) = rows_of(adapter, f"set {PARTITIONS_ARE_ASKED_FOR}")
    if str(row[1]).lower() == "false":
        raise DbtRuntimeError(
            f"{relation} has its partitions in the metastore, and the profile sets"
            f" {PARTITIONS_ARE_ASKED_FOR} to false, by which Spark reads the files in"
            " the table's folder instead: leave that setting out."
        )


def read_raw(adapter: SparkAdapter, source: dict[str, Any], run: str) -> RawRead:
    """Find out what a raw table holds: how many rows, which, how new.

    Asked before its rows are read: what comes between counts as not read.
    """
    relation, loaded_at = source["relation_name"], source["loaded_at_field"]
    # A session that has read it before knows the files that it had then.
    adapter.execute(f"refresh table {relation}")
    values = []
    columns = columns_of(adapter, relation)
    # Values that trade their names are another table's.
    layout = zlib.crc32(repr(columns).encode())
    for name, kind in columns:
        # Spark hashes no maps; and a null adds nothing to a hash, so that one beside
        # each value tells them apart, and what is nested is hashed as text.
        is_nested = "<" in kind or kind == "variant"
        values.append(f"to_json(struct({name}), {TO_THE_LAST})" if is_nested else name)
        values.append(f"{name} is null")
    loaded = (
        f"try_cast({loaded_at} as timestamp)"
        if loaded_at
        else "cast(null as timestamp)"
    )
    # Equal rows cancel each other in the one, and add up in the other.
    content = "xxhash64(bit_xor(content), sum(content & 4294967295))"
    (row,) = rows_of(
        adapter,
        f"select count(*), {content}, max(unix_micros(case"
        " when loaded <= current_timestamp() then loaded end)) from ("
        f"select xxhash64({', '.join((str(layout), *values))}) as content,"
        f" {loaded} as loaded"
        f" from {relation})",
    )
    found = (None if value is None else int(value) for value in row)
    return RawRead(table_of(source), run, *found)


def look_up(adapter: SparkAdapter, graph: dict[str, Any], table: str) -> RawRead | None:
    """Return what a raw table holds now; None if the project has no such source."""
    for source in graph["sources"].values():
        if table_of(source) == table:
            return read_raw(adapter, source, "now")
    return None


def has_changed(read: RawRead, now: RawRead | None) -> bool:
    """Say whether a raw table may hold something else than was read of it."""
    return now is None or not read.found_the_same(now)
