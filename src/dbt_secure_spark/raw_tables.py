"""Read the state of the raw tables, to detect a change between two readings."""

from __future__ import annotations

import hashlib
import re
import zlib
from datetime import datetime
from itertools import accumulate, takewhile
from typing import Any, NamedTuple

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.formats import ICEBERG
from dbt_secure_spark.functions import (
    may_be_of_people,
    may_read_tables,
    told_of_function,
)
from dbt_secure_spark.moments import EPOCH, MICROSECOND, micros_of
from dbt_secure_spark.queries import (
    PART_OF_NAME,
    functions_of_people,
    names_read,
    quoted,
)
from dbt_secure_spark.settings import read_as_of
from dbt_secure_spark.versions import NAMED_VERSION, RawRead, rows_of
from secure_datasets.sql import expressions

PARTITIONS_ARE_ASKED_FOR = "spark.sql.hive.manageFilesourcePartitions"
CURRENT_SNAPSHOT = re.compile(r"(?<=[\[,])current-snapshot-id=([0-9]+)(?=[,\]])")
READ_BY_BRANCH = re.compile(r"\bwrite\.wap\.enabled=true\b", re.I)
# By default, the text of a moment drops microseconds and the zone, and in some zones an
# hour occurs twice.
TO_THE_LAST = (
    "map('timeZone', 'UTC', 'timestampFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS',"
    " 'timestampNTZFormat', 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
)
# A hash of all rows' hashes: two equal rows cancel out in the xor, and add up in the
# sum.
CONTENT = "xxhash64(bit_xor(content), sum(content & 4294967295))"


def table_of(source: dict[str, Any]) -> str:
    """Return a raw table's name by its source, independent of its schema."""
    return f"{source['source_name']}.{source['name']}".lower()


def columns_of(adapter: SparkAdapter, relation: str) -> list[tuple[str, str]]:
    """Return a relation's columns, quoted, with their types.

    Raises DbtRuntimeError if the session would not read the relation's partitions.
    """
    return described(adapter, relation)[0]


class Snapshot(NamedTuple):
    """The snapshot of a table, and how it is read.

    `commits` is a digest of the table's log of commits: columns that are dropped and
    added again, or a changed setting for reading files, make no new snapshot.
    """

    id: int
    commits: str


def described(
    adapter: SparkAdapter, relation: str
) -> tuple[list[tuple[str, str]], Snapshot | None]:
    """Return a relation's columns as `columns_of` does, and its snapshot."""
    told = rows_of(adapter, f"describe table extended {relation}")
    told_of_it = {row[0]: row[1] for row in told}
    refuse_other_partitions(adapter, relation, told_of_it)
    columns = []
    for name, kind, *_ in told:
        # The columns end at a row without a type; the partitions follow.
        if not kind:
            break
        columns.append((f"`{str(name).replace('`', '``')}`", str(kind)))
    return columns, snapshot_of(adapter, relation, told_of_it)


def snapshot_of(
    adapter: SparkAdapter, relation: str, told: dict[str, str]
) -> Snapshot | None:
    """Return a table's current snapshot, from its description `told`.

    None if the table keeps no snapshots or has none yet. None, too, if a branch or a
    tag may be read, since the description shows the main branch: the relation names it,
    or the table lets a session's setting choose it.
    """
    properties = str(told.get("Table Properties"))
    if (
        str(told.get("Provider")).lower() != ICEBERG
        or READ_BY_BRANCH.search(properties)
        or len(PART_OF_NAME.findall(str(relation)))
        > len(("catalog", "schema", "table"))
    ):
        return None
    # The value of a person's own property may look like this one.
    found = CURRENT_SNAPSHOT.findall(properties)
    if len(found) != 1:
        return None
    files = "array_join(array_sort(collect_list(file)), ' ')"
    log = f"{relation}.metadata_log_entries"
    (row,) = rows_of(adapter, f"select sha2({files}, 256) from {log}")
    return Snapshot(int(found[0]), str(row[0]))


def refuse_other_partitions(
    adapter: SparkAdapter, relation: str, told: dict[str, str]
) -> None:
    """Refuse a table with partitions in the metastore that the session ignores.

    Spark would read all files below the table's folder instead: without a partition in
    a different folder, and with a dropped partition whose files remain. A view is
    checked through the relations that it reads, at any depth. Raises DbtRuntimeError.
    """
    if not (has_partitions(told) or is_view(told)):
        return
    (row,) = rows_of(adapter, f"set {PARTITIONS_ARE_ASKED_FOR}")
    if str(row[1]).lower() != "false":
        return
    left, seen = [(relation, told)], {relation}
    while left:
        name, told = left.pop()
        called = re.sub(r"`(\w+)`", r"\1", name)
        if has_partitions(told):
            read = "" if name == relation else f", which {relation} reads,"
            raise DbtRuntimeError(
                f"{called}{read} has its partitions in the metastore, and the profile"
                f" sets {PARTITIONS_ARE_ASKED_FOR} to false, so that Spark reads the"
                " files in the table's folder instead: leave that setting out."
            )
        for below in read_by_view(adapter, called, told) if is_view(told) else ():
            if below not in seen:
                seen.add(below)
                left.append((below, told_of(adapter, below)))


def has_partitions(told: dict[str, str]) -> bool:
    """Return whether a table has its partitions in the metastore."""
    # For a table in Hive's format, Spark always uses the metastore's partitions.
    is_tracked = told.get("Partition Provider") == "Catalog"
    return is_tracked and told.get("Provider") != "hive"


def is_view(told: dict[str, str]) -> bool:
    """Return whether a relation is a view, of any kind."""
    return "VIEW" in str(told.get("Type"))


def told_of(adapter: SparkAdapter, relation: str) -> dict[str, str]:
    """Return the description of a relation that a view names; empty for files.

    A name such as `parquet.<path>` is no relation: its only partitions are folders.
    """
    try:
        told = rows_of(adapter, f"describe table extended {relation}")
    except DbtRuntimeError as failure:
        # A missing relation fails when the view is read.
        if "NOT_FOUND" not in str(failure):
            raise
        return {}
    return {row[0]: row[1] for row in told}


def read_by_view(adapter: SparkAdapter, view: str, told: dict[str, str]) -> list[str]:
    """Return the relations that a view reads, by their names in this session.

    The versions that a project publishes are left out: their partitions never change.
    Raises DbtRuntimeError if the view may read further, unknown relations.
    """
    text = told.get("View Text") or ""
    # The defaults for names without a schema or catalog. A view made by Hive has none:
    # its names have schemas, in the session's catalog.
    schema = told.get("View Catalog and Namespace") or ""
    try:
        names, called = names_read(view, text), functions_of_people(view, text)
    except CompilationError as why:
        raise unknown_partitions(why.msg) from None
    if not schema and any(len(name) == 1 for name in names):
        raise unknown_schema(view)
    for function, may_be_none in called.items():
        is_plain = len(PART_OF_NAME.findall(function)) == 1
        if is_plain and not schema:
            if may_be_of_people(adapter, function, may_be_none):
                raise unknown_schema(view)
            continue
        own = f"{schema}.{function}" if is_plain else function
        is_there = told_of_function(adapter, own) is not None
        if may_read_tables(adapter, own if is_there else function, may_be_none):
            raise unknown_partitions(
                f"'{view}' calls {function}, which may read tables."
            )
    found = []
    catalog = f"{PART_OF_NAME.findall(schema)[0]}." if schema else ""
    for name in names:
        if NAMED_VERSION.fullmatch(".".join(name[-2:])):
            continue
        before = {1: f"{schema}.", 2: catalog}.get(len(name), "")
        found.append(before + quoted(name))
    return found


def unknown_schema(view: str) -> DbtRuntimeError:
    """Return the error for a view with a one-part name and no known schema."""
    return unknown_partitions(f"In which schema '{view}' reads is not told.")


def unknown_partitions(why: str) -> DbtRuntimeError:
    """Return the error for a view that may read a table with ignored partitions."""
    return DbtRuntimeError(
        f"{why} If it is a table with its partitions in the metastore, its rows would"
        f" be others: the profile sets {PARTITIONS_ARE_ASKED_FOR} to false, so that"
        " Spark reads the files in the table's folder instead. Leave that setting out."
    )


def raw_columns(adapter: SparkAdapter, relation: Any) -> dict[str, str] | None:
    """Return the columns of a raw table with their types; None if it is missing."""
    try:
        told = rows_of(adapter, f"describe table {relation}")
    except DbtRuntimeError as failure:
        # Spark mistakes a missing catalog for a schema of its own.
        if not re.search("NOT_FOUND|REQUIRES_SINGLE_PART_NAMESPACE", str(failure)):
            raise
        return None
    # The description of the partitions follows the columns.
    columns = takewhile(lambda row: row[1] and not str(row[0]).startswith("#"), told)
    return {str(name): str(kind).lower() for name, kind, *_ in columns}


def names_in(expression: str) -> set[str]:
    """Return the columns that an expression names, in lower case; none if unknown."""
    from sqlglot import exp

    try:
        found = expressions.read(expression).tree.find_all(exp.Column)
    except expressions.ExpressionProblem:
        return set()
    return {column.parts[0].name.lower() for column in found}


def read_raw(adapter: SparkAdapter, source: dict[str, Any], run: str) -> RawRead:
    """Read a raw table's state: the number, digest and newest load time of its rows.

    Call it before the rows are read: a change in between counts as not read.
    """
    relation, loaded_at = source["relation_name"], source["loaded_at_field"]
    # A session that has read the table before caches its list of files.
    adapter.execute(f"refresh table {relation}")
    columns, snapshot = described(adapter, relation)
    there = {name.strip("`").lower() for name, _ in columns}
    if loaded_at and not names_in(loaded_at) <= there:
        # A declared feed has a clock of its own, and no load time column.
        loaded_at = None
    loaded = (
        f"try_cast({loaded_at} as timestamp)"
        if loaded_at
        else "cast(null as timestamp)"
    )
    read = "" if snapshot else f"{hash_of_row(columns)} as content, "
    content = digest_of(columns, snapshot) if snapshot else CONTENT
    (row,) = rows_of(
        adapter,
        f"select count(*), {content}, max(unix_micros(case"
        " when loaded <= current_timestamp() then loaded end)) from ("
        f"select {read}{loaded} as loaded"
        f" from {relation})",
    )
    found = (None if value is None else int(value) for value in row)
    return RawRead(table_of(source), run, *found, snapshot and snapshot.id)


def digest_of(columns: list[tuple[str, str]], snapshot: Snapshot) -> int:
    """Return a number that identifies a snapshot, read by columns."""
    digest = hashlib.sha256(repr((columns, *snapshot)).encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


def raw_rows_as_of(
    adapter: SparkAdapter, name: str, relation: Any, as_of: str
) -> str | None:
    """Return a raw table as it was at a moment; None if it keeps no snapshots.

    Raises CompilationError if it keeps no snapshot of that moment, or if the snapshot's
    columns differ from the columns that the feed declares.
    """
    current = _current_snapshot(adapter, relation)
    if current is None:
        return None
    moment = read_as_of(as_of)
    history = _history(adapter, relation, current)
    found = _until(name, relation, history, moment)[-1].snapshot
    past = f"{relation} version as of {found}"
    if differ := _differences(adapter, relation, past):
        raise _other_columns(name, relation, moment, differ)
    return past


def raw_snapshots(
    adapter: SparkAdapter, name: str, relation: Any, as_of: Any = None
) -> list[dict[str, Any]] | None:
    """Return what a raw table held, one snapshot after the other; None if unknown.

    They go back as far as all of them are kept and have the columns of now.

    Output of each: rows, the relation; columns, their names; since, the moment from
    which it was the table, in microseconds of UTC

    as_of  the moment of the last; None for now
    """
    current = _current_snapshot(adapter, relation)
    if current is None:
        return None
    moment = datetime.max if as_of is None else read_as_of(as_of)
    history = _history(adapter, relation, current)
    until = _until(name, relation, history, moment)
    now_read = rows_of(adapter, f"describe query select * from {relation}")
    columns = [quoted([row[0]]) for row in now_read]
    found: dict[int, dict[str, Any]] = {}
    for each in reversed(until):
        if each.snapshot is None:
            break
        rows = f"{relation} version as of {each.snapshot}"
        differ = _differences(adapter, relation, rows, now_read)
        if differ and not found and as_of is not None:
            raise _other_columns(name, relation, moment, differ)
        if differ and found:
            break
        # A column may be newer than the last snapshot. Among commits at one moment
        # the last counts.
        of_then = {"rows": str(relation) if differ else rows, "columns": columns}
        found.setdefault(each.since, {**of_then, "since": each.since})
    return sorted(found.values(), key=lambda each: each["since"])


class _Current(NamedTuple):
    """A snapshot that was a table's current one; None if it is no longer kept."""

    snapshot: int | None
    since: int


def _current_snapshot(adapter: SparkAdapter, relation: Any) -> int | None:
    """Return a table's snapshot, as the session now sees it; None without snapshots."""
    # A session that has read the table before caches its snapshots.
    adapter.execute(f"refresh table {relation}")
    told = rows_of(adapter, f"describe table extended {relation}")
    found = snapshot_of(adapter, relation, {row[0]: row[1] for row in told})
    return found and found.id


def _history(adapter: SparkAdapter, relation: Any, current: int) -> list[_Current]:
    """Return which snapshot was a table's current one, from when on, in order.

    The table's log has the order. Its times come from the writers' clocks: a commit may
    bear an earlier one than the commit before, and then counts from that one's on.
    Raises CompilationError if the log does not end at `current`.
    """
    log = rows_of(
        adapter,
        f"select snapshot_id, unix_micros(made_current_at) from {relation}.history",
    )
    if not log or int(log[-1][0]) != current:
        raise CompilationError(
            f"{relation} was written while its history was read: ask again."
        )
    there = rows_of(adapter, f"select snapshot_id from {relation}.snapshots")
    kept = {int(row[0]) for row in there}
    since = accumulate((int(row[1]) for row in log), max)
    return [
        _Current(snapshot if snapshot in kept else None, at)
        for (snapshot, at) in zip((int(row[0]) for row in log), since, strict=True)
    ]


def _until(
    name: str, relation: Any, history: list[_Current], moment: datetime
) -> list[_Current]:
    """Return a table's history until a moment; raise if that state is not kept."""
    of_then = [each for each in history if each.since <= micros_of(moment)]
    if of_then and of_then[-1].snapshot is not None:
        return of_then
    kept = [each.since for each in history if each.snapshot is not None]
    first = (EPOCH + kept[0] * MICROSECOND).replace(microsecond=0) if kept else "never"
    raise CompilationError(
        f"{relation} keeps no snapshot of {moment}, but those since"
        f" {first} (both UTC), and the feed of {name} holds the present alone:"
        " ask about a later moment, or keep snapshots longer."
    )


def _differences(
    adapter: SparkAdapter, relation: Any, past: str, now_read: list[Any] | None = None
) -> str:
    """Return the columns that differ between a table and its snapshot."""
    then = rows_of(adapter, f"describe query select * from {past}")
    if now_read is None:
        now_read = rows_of(adapter, f"describe query select * from {relation}")
    differ = {(row[0], row[1]) for row in then} ^ {(row[0], row[1]) for row in now_read}
    return ", ".join(sorted({name for name, _ in differ}))


def _other_columns(
    name: str, relation: Any, moment: datetime, columns: str
) -> CompilationError:
    return CompilationError(
        f"{relation} had other columns, or of other types, on"
        f" {moment} (UTC): {columns}. The feed of {name} is declared for those of"
        " now: ask about a later moment."
    )


def hash_of_row(columns: list[tuple[str, str]]) -> str:
    """Return SQL for a hash of a row's values, by the columns' names and types."""
    # Two columns that swap their names change the hash.
    values = [str(zlib.crc32(repr(columns).encode()))]
    for name, kind in columns:
        # Spark does not hash maps, so nested values are hashed as text. A null adds
        # nothing to a hash, so an `is null` follows each value.
        is_nested = "<" in kind or kind == "variant"
        values.append(f"to_json(struct({name}), {TO_THE_LAST})" if is_nested else name)
        values.append(f"{name} is null")
    return f"xxhash64({', '.join(values)})"


def source_of(graph: dict[str, Any], table: str) -> dict[str, Any] | None:
    """Return the source of a raw table; None if the project has no such source."""
    sources = graph["sources"].values()
    return next((each for each in sources if table_of(each) == table), None)


def look_up(adapter: SparkAdapter, graph: dict[str, Any], table: str) -> RawRead | None:
    """Return a raw table's state now; None if the project has no such source."""
    source = source_of(graph, table)
    return source and read_raw(adapter, source, "now")


def has_changed(read: RawRead, now: RawRead | None) -> bool:
    """Return whether a raw table may have changed since it was read."""
    return now is None or not read.found_the_same(now)
