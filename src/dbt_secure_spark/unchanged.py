"""Whether a version can stay: all that its rows come from is as it was written from.

A version's property ``made_of`` holds a digest of it, and how many rows it has. It is
noted only where no raw table was written to while the version was.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.functions import may_be_of_people
from dbt_secure_spark.in_time import InTime
from dbt_secure_spark.publishing import (
    STORED,
    relation_of,
    rows_in,
    run_of,
    sources_of,
    text_of_view,
)
from dbt_secure_spark.queries import (
    functions_of_people,
    relations_read,
    words_and_texts,
)
from dbt_secure_spark.versions import RawRead, definitions, rows_of
from secure_datasets.sql.clock_texts import is_clock
from secure_datasets.sql.expressions import CHANCE, CLOCK, FOREIGN

logger = AdapterLogger("Spark")

MADE_OF = re.compile(r"made_of=(?P<digest>[0-9a-f]{64})_(?P<rows>[0-9]+)\b")
# Whose rows say in which file they are, and are gone with it alone: of Delta one may be
# taken out of a file that stays.
IN_FILES = ("parquet", "orc", "avro", "csv", "json")
# What may be something else at each time that it is asked.
OF_THE_MOMENT = CHANCE | CLOCK | FOREIGN
OF_THE_MOMENT |= {"unix_timestamp", "tablesample", "_metadata"}
OF_THE_MOMENT |= {"current_user", "session_user", "user"}
OF_THE_MOMENT |= {"current_catalog", "current_database", "current_schema"}
# Who writes in place leaves the name as it was, but not the time or the size.
FILE = "_metadata.file_path, _metadata.file_modification_time, _metadata.file_size"


@dataclass(frozen=True)
class MadeOf:
    """What a new version would be made of.

    `digest` is of all that its rows come from, `files` says in which files each raw
    table lies.
    """

    digest: str
    files: dict[str, str]


def made_of(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    code: str,
    raw: list[RawRead],
    files: dict[str, str] | None,
) -> MadeOf | None:
    """Return what a node's next version would be made of; None if it is made anew.

    That is where the node is not to be kept, or where it can't be known. `files` are
    those of its raw tables before these were asked for what they hold, `raw`.
    """
    if files is None:
        return None
    run = run_of(adapter)
    unknown, versions = run.reads_of_its_own(graph, node, code)
    is_known = all(read.content is not None for read in raw)
    if unknown or versions or not is_known or may_vary(adapter, node, code):
        return None
    parents = versions_of_parents(adapter, graph, node, code)
    if parents is None:
        return None
    parts = {
        "code": code,
        "model": [node["config"], node["columns"], node["description"]],
        "parents": parents,
        "raw": sorted((read.table, read.rows, read.content) for read in raw),
        "engine": engine_of(adapter),
    }
    text = json.dumps(parts, sort_keys=True, default=str)
    return MadeOf(hashlib.sha256(text.encode()).hexdigest(), files)


def versions_of_parents(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], code: str
) -> list[str] | None:
    """Return the versions that a node reads; None where it reads anything else.

    What its query does not name may have been asked for values, which it holds.
    """
    run = run_of(adapter)
    raw = {relation_of(source) for source in sources_of(graph, node).values()}
    read, found = set(relations_read(node["name"], code)) - raw, []
    for unique_id in node["depends_on"].get("nodes", ()):
        parent = graph["nodes"].get(unique_id)
        # The sample's seeds are raw tables, too.
        if parent is None or relation_of(parent) in raw:
            continue
        kind = parent["config"]["materialized"]
        if kind == "ephemeral":
            return None
        if (run.deferred(parent) or relation_of(parent)) not in read:
            continue
        read.discard(relation_of(parent))
        version = run.published.version_of(relation_of(parent))
        if kind not in STORED or version is None or run.deferred(parent):
            return None
        if not shows(adapter, parent, version):
            return None
        found.append(version)
    return sorted(found) if not read else None


def may_vary(adapter: SparkAdapter, node: dict[str, Any], code: str) -> bool:
    """Say whether a query may give other rows of the same: by what it calls or names.

    The text of a function of people's own may be another one the next time.
    """
    words, texts = words_and_texts(node["name"], code)
    if OF_THE_MOMENT & words or any(map(is_clock, texts)):
        return True
    called = functions_of_people(node["name"], code)
    return any(may_be_of_people(adapter, *each) for each in called.items())


def engine_of(adapter: SparkAdapter) -> list[Any]:
    """Return what may read the same rows otherwise, asked once a run.

    The versions of the product and of Spark, and Spark's settings.
    """
    run = run_of(adapter)
    if run.engine is None:
        settings = rows_of(adapter, "set")
        run.engine = [
            adapter.product_version(),
            # The zone may be that of the machine.
            *rows_of(adapter, "select version(), current_timezone()")[0],
            sorted((key, value) for key, value, *_ in settings if "spark.sql." in key),
        ]
    return run.engine


def files_of_sources(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any]
) -> dict[str, str] | None:
    """Return in which files a node's raw tables lie; None if one does not tell.

    Or if the node's versions are not to be kept.
    """
    if not node["config"].get("keep_unchanged"):
        return None
    if node.get("language") != "sql":
        raise CompilationError(
            f"'{node['name']}' has keep_unchanged, and is no SQL model: what its code"
            " imports may change without it."
        )
    found = {}
    for source in sources_of(graph, node).values():
        files = files_of(adapter, source)
        if files is None:
            return None
        found[relation_of(source)] = files
    return found


def files_of(adapter: SparkAdapter, source: dict[str, Any]) -> str | None:
    """Return what tells whether a raw table was written to; None if nothing does.

    Rows that are taken away and come back are in other files.
    """
    # A published relation's version is not written to.
    if version := run_of(adapter).published.version_of(relation_of(source)):
        return version
    relation = source["relation_name"]
    adapter.execute(f"refresh table {relation}")
    told = {row[0]: row[1] for row in rows_of(adapter, f"describe extended {relation}")}
    is_in_files = str(told.get("Provider")).lower() in IN_FILES
    if told.get("Type") == "VIEW" or not is_in_files or "_metadata" in told:
        return None
    rows = rows_of(adapter, f"select distinct {FILE} from {relation}")
    # Of no row no file is told.
    return "\n".join(sorted(str(tuple(row)) for row in rows)) or None


def version_to_keep(
    adapter: SparkAdapter, node: dict[str, Any], of_next: MadeOf | None
) -> str | None:
    """Return the published version, if the next one would be the same; None if not."""
    version = run_of(adapter).published.version_of(relation_of(node))
    if of_next is None or version is None:
        return None
    schema, name = version.split(".")
    noted = MADE_OF.search(definitions(adapter, schema, name).get(name, ""))
    if noted is None or noted["digest"] != of_next.digest:
        return None
    # What somebody else has put in its place goes, too.
    is_kept = shows(adapter, node, version) and is_whole(
        adapter, version, noted["rows"]
    )
    return version if is_kept else None


def shows(adapter: SparkAdapter, node: dict[str, Any], version: str) -> bool:
    """Say whether a node's view is what publishing a version makes of it."""
    text = text_of_view(adapter, relation_of(node)) or ""
    if in_time := InTime.read(text):
        return text.strip() == in_time.published_rows(version)
    of_version = rf"select \* (except \(`[^`]+`\) )?from {re.escape(version)}"
    return re.fullmatch(of_version, text.strip().lower()) is not None


def is_whole(adapter: SparkAdapter, version: str, rows: str) -> bool:
    """Say whether a version has all its rows: lost ones come back by writing them."""
    try:
        return rows_in(adapter, version) == int(rows)
    except DbtRuntimeError as failure:
        # A file is damaged, or what the metastore says of it.
        logger.debug(str(failure))
        return False


def note_made_of(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    version: str,
    made: MadeOf | None,
) -> None:
    """Note what a new version was made of, if no raw table was written to meanwhile."""
    if made is None or files_of_sources(adapter, graph, node) != made.files:
        return
    value = f"{made.digest}_{rows_in(adapter, version)}"
    adapter.execute(f"alter table {version} set tblproperties ('made_of' = '{value}')")
