"""Read the files of the raw tables: whether a table has changed, without its rows."""

from __future__ import annotations

import hashlib
import json
import re
from collections import ChainMap
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from dbt_secure_spark.formats import format_of
from dbt_secure_spark.in_time import InTime
from dbt_secure_spark.lineage import relation_of
from dbt_secure_spark.raw_tables import read_raw, snapshot_of, table_of
from dbt_secure_spark.versions import RawRead, began, raw_files, rows_of

if TYPE_CHECKING:
    from dbt_secure_spark.run import Run

# The query of a published version's view, without the version's own folder column.
SHOWS_ALL = r"select \* (?:except \(`\w+__mod_[0-9]+`\) )?from "
PARTITIONS = "# Partition Information"
# A write in place keeps a file's name, but changes its time or size.
FILE = (
    "_metadata.file_path, unix_micros(_metadata.file_modification_time),"
    " _metadata.file_size"
)
# In microseconds. Some stores keep a file's time in seconds, by their own clock: a file
# that is rewritten soon after it was read may keep its time.
SETTLED = 60_000_000


class RawFiles(NamedTuple):
    """The state of a raw table's files.

    `digest` identifies them; `newest` is the latest time at which one of them was
    written, in microseconds since 1970.
    """

    digest: str
    newest: int


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
    if is_by_the_time(run, source):
        return None
    # The sample's seeds are raw tables, and views over their versions.
    version = run.published.version_of(relation_of(source))
    if version and not shows(run, source, version):
        return None
    adapter, relation = run.adapter, version or source["relation_name"]
    adapter.execute(f"refresh table {relation}")
    definition = list(map(tuple, rows_of(adapter, f"describe extended {relation}")))
    told = {row[0]: row[1] for row in definition}
    if snapshot := snapshot_of(adapter, relation, told):
        # Each commit has a file of its own, so no commit is too new to be recognized.
        return RawFiles(digest_of([snapshot, definition, engine_of(run)]), newest=0)
    is_in_files = format_of(told.get("Provider")).is_in_files
    if told.get("Type") == "VIEW" or not is_in_files or "_metadata" in told:
        return None
    # The schema of Avro files may lie in a separate file.
    if "schemaurl" in str(told.get("Storage Properties")).lower():
        return None
    # A partition's value in the metastore may differ from its folder's name.
    columns = "".join(f", `{name}`" for name in partition_columns(definition))
    rows = rows_of(adapter, f"select distinct {FILE}{columns} from {relation}")
    # Without rows, no file is known.
    if not rows:
        return None
    files = sorted(map(repr, map(tuple, rows)))
    digest = digest_of([files, definition, engine_of(run)])
    return RawFiles(digest, max(int(row[1]) for row in rows))


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
    text = run.text_of(relation_of(node)) or ""
    of_version = SHOWS_ALL + re.escape(version)
    return re.fullmatch(of_version, text.strip().lower()) is not None


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
