"""Read the files of the raw tables: whether a table has changed, without its rows."""

from __future__ import annotations

import hashlib
import json
import re
from collections import ChainMap
from collections.abc import Iterable
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_secure_spark.catalogs import without_its_catalog
from dbt_secure_spark.formats import format_of
from dbt_secure_spark.in_time import InTime
from dbt_secure_spark.lineage import relation_of
from dbt_secure_spark.published_state import fields_of
from dbt_secure_spark.raw_tables import read_raw, snapshot_of, table_of
from dbt_secure_spark.versions import RawRead, began, raw_files, rows_of

if TYPE_CHECKING:
    from dbt_secure_spark.run import Run

# The query of a published version's view, without the version's own folder column.
SHOWS_ALL = r"select \* (?:except \(`\w+__mod_[0-9]+`\) )?from "
PARTITIONS = "# Partition Information"
# A write in place keeps a file's name, but changes its time or size.
FILE = (
    "_metadata.file_path as path,"
    " unix_micros(_metadata.file_modification_time) as written,"
    " _metadata.file_size as size"
)
# Counted bytes and rows of a described table, which no column's type looks like.
STATISTICS, COUNTED = "Statistics", re.compile(r"[0-9]+ bytes")
# In microseconds. Some stores keep a file's time in seconds, by their own clock: a file
# that is rewritten soon after it was read may keep its time.
SETTLED = 60_000_000


class RawFile(NamedTuple):
    """A file of a raw table: its path, time in microseconds, bytes, and partition."""

    path: str
    written: int
    size: int
    folder: str


class RawFiles(NamedTuple):
    """The state of a raw table's files.

    `digest` identifies them; `newest` is the latest time at which one of them was
    written, in microseconds since 1970. A table that keeps snapshots has no `listed`
    files. `table` is a digest of its definition and of the engine.
    """

    digest: str
    newest: int
    listed: frozenset[RawFile] = frozenset()
    table: str = ""

    @classmethod
    def of(cls, listed: Iterable[RawFile], table: str) -> RawFiles:
        """Return the state of a table in these files; there must be one."""
        found = frozenset(listed)
        newest = max(file.written for file in found)
        return cls(digest_of([sorted(found), table]), newest, found, table)

    def until(self, moment: int) -> RawFiles | None:
        """Return the state that the files until a moment are; None if there is none."""
        before = [file for file in self.listed if file.written <= moment]
        return RawFiles.of(before, self.table) if before else None


def read_unless_known(
    run: Run, source: dict[str, Any], files: RawFiles | None, name: str
) -> RawRead:
    """Return a raw table's state as the run `name` reads it.

    A table with the files of an earlier reading is not read again: its state, with its
    newest load time, is the noted one.

    files  the state of the table's files, taken before; None if unknown
    """
    if files is None:
        return read_raw(run.adapter, source, name)
    noted, key = noted_readings(run), (table_of(source), files.digest)
    if key in noted:
        return replace(noted[key], run=name)
    read = read_raw(run.adapter, source, name)
    if files.newest < settled(run):
        noted[key] = read
    return read


def noted_readings(run: Run) -> dict[tuple[str, str], RawRead]:
    """Return the known readings, by table and digest of its files.

    They are noted with the versions of earlier runs, or of this run.
    """
    if run.noted_readings is None:
        versions = run.published.versions.values()
        run.noted_readings = dict(ChainMap(*map(raw_files, versions)))
    return run.noted_readings


def settled(run: Run) -> int:
    """Return the moment before which a file was written that can be recognized."""
    return began(run.name) - SETTLED


def files_of(run: Run, source: dict[str, Any]) -> RawFiles | None:
    """Return the state that changes when a raw table is written to; None if unknown.

    The digest covers the names, sizes and times of its files, its definition and the
    engine. Rows that are deleted and restored lie in new files. A table that keeps
    snapshots has a log of its commits instead.
    """
    return read_files(run, [source])[relation_of(source)]


def read_files(run: Run, sources: list[dict[str, Any]]) -> dict[str, RawFiles | None]:
    """Return the states of raw tables as `files_of` does, by relation.

    The tables that lie in files are asked for together.
    """
    found: dict[str, RawFiles | None] = {}
    asked: dict[str, tuple[str, list[tuple[Any, ...]]]] = {}
    for source in sources:
        name = relation_of(source)
        found[name] = None
        if is_by_the_time(run, source):
            continue
        # The sample's seeds are raw tables, and views over their versions.
        version = run.published.version_of(name)
        if version and not shows(run, source, version):
            continue
        relation = version or source["relation_name"]
        run.adapter.execute(f"refresh table {relation}")
        told = rows_of(run.adapter, f"describe extended {relation}")
        definition = [tuple(row) for row in told if not _is_counted(row)]
        fields = {row[0]: row[1] for row in definition}
        if snapshot := snapshot_of(run.adapter, relation, fields):
            # Each commit has a file of its own, so none is too new to be recognized.
            digest = digest_of([snapshot, definition, engine_of(run)])
            found[name] = RawFiles(digest, newest=0)
        elif _lies_in_files(fields):
            asked[name] = relation, definition
    files: dict[str, list[RawFile]] = {}
    for place, path, written, size, folder in (
        rows_of(run.adapter, _query_of(asked)) if asked else ()
    ):
        file = RawFile(str(path), int(written), int(size), str(folder))
        files.setdefault([*asked][int(place)], []).append(file)
    # Without rows, no file is known.
    for name, of_table in files.items():
        table = digest_of([asked[name][1], engine_of(run)])
        found[name] = RawFiles.of(of_table, table)
    return found


def _query_of(asked: dict[str, tuple[str, list[tuple[Any, ...]]]]) -> str:
    """Return the query for the files of tables, each by its place in `asked`."""
    parts = []
    for place, (relation, definition) in enumerate(asked.values()):
        # A partition's value in the metastore may differ from its folder's name.
        names = [f"cast(`{name}` as string)" for name in partition_columns(definition)]
        values = f"to_json(array({', '.join(names)}))" if names else "''"
        parts.append(
            f"select {place} as place, {FILE}, {values} as folder from {relation}"
        )
    return f"select distinct * from ({' union all '.join(parts)}) as files"


def _is_counted(row: Any) -> bool:
    """Whether a row of a description is what was counted, which decides no row."""
    return row[0] == STATISTICS and COUNTED.match(str(row[1])) is not None


def _lies_in_files(fields: dict[str, str]) -> bool:
    """Return whether Spark's `_metadata` tells the files of a described table."""
    is_in_files = format_of(fields.get("Provider")).is_in_files
    if fields.get("Type") == "VIEW" or not is_in_files or "_metadata" in fields:
        return False
    # The schema of Avro files may lie in a separate file.
    return "schemaurl" not in str(fields.get("Storage Properties")).lower()


def partition_columns(definition: list[tuple[Any, ...]]) -> list[str]:
    """Return a table's partition columns, from its description."""
    names = [str(row[0] or "") for row in definition]
    if PARTITIONS not in names:
        return []
    # Skip the list's two heading rows.
    left = names[names.index(PARTITIONS) + 2 :]
    return [*takewhile(lambda name: name and not name.startswith("#"), left)]


def is_by_the_time(run: Run, node: dict[str, Any]) -> bool:
    """Return whether a published relation's rows depend on the time."""
    return InTime.read(run.published.definitions.get(relation_of(node))) is not None


def shows(run: Run, node: dict[str, Any], version: str) -> bool:
    """Return whether a node's view shows a whole version, as when it was published."""
    view = relation_of(node)
    listed = fields_of(run.published.definitions.get(view, "")).get("View Text")
    # The end of the run reads its switches back.
    told = run.switched.get(view, listed)
    text = run.text_of(view) if told is None else without_its_catalog(run.adapter, told)
    of_version = SHOWS_ALL + re.escape(version)
    return re.fullmatch(of_version, (text or "").strip().lower()) is not None


def engine_of(run: Run) -> list[Any]:
    """Return the parts of the engine that may change what is read, once a run.

    They are the versions of the product and of Spark, the zone, and Spark's settings.
    """
    if run.engine is None:
        adapter = run.adapter
        settings = rows_of(adapter, "set")
        run.engine = [
            adapter.product_version(),
            # The zone may be the machine's, and not among the settings.
            *rows_of(adapter, "select version(), current_timezone()")[0],
            sorted((key, value) for key, value, *_ in settings if "spark.sql." in key),
        ]
    return run.engine


def digest_of(value: Any) -> str:
    """Return a digest of a value as JSON, with any non-JSON object as text."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
