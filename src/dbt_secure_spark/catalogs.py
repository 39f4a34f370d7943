"""Find the catalogs of a project's views and of the versions that the views read.

Both are in the session's catalog, unless the profile names a `versions_catalog`, which
stores tables in Iceberg. In all modules but this one, a version's name is its schema
and table: the catalog is added when a statement is sent, and removed when a view's text
is read. So is the snapshot that a version was written as: what somebody writes into the
version's table later is not shown. The schema of the versions exists in both catalogs:
in the session's catalog it has the locks and the notes of runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import takewhile
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.formats import ICEBERG, PARQUET
from dbt_secure_spark.lineage import STORED, relation_of
from dbt_secure_spark.queries import (
    PART_OF_NAME,
    in_catalog,
    in_catalog_of_versions,
    schemas_of_functions,
    versions_with_snapshots,
    with_snapshots,
    without_catalog,
    without_snapshots,
)
from dbt_secure_spark.settings_of_views import OF_DATABRICKS
from dbt_secure_spark.versions import (
    NAMED_VERSION,
    existing_schemas,
    named_versions,
    rows_of,
    versions_catalog,
    without_kept,
)

NAME = re.compile(r"\w+")
# The number of versions in one query: the query has each name.
AT_ONCE = 50
# A version in a view's text, and the catalog in front of it.
WITH_CATALOG = re.compile(
    rf"(?:(?P<catalog>`(?:[^`]|``)*`|\w+)\.)?(?P<version>{NAMED_VERSION.pattern})", re.I
)


def catalog_of(adapter: SparkAdapter) -> str:
    """Return the session's catalog, which has this project's relations, for SQL."""
    known = getattr(adapter, "own_catalog", None)
    if known is None:
        ((known,),) = rows_of(adapter, "select current_catalog()")
        # A name with special characters is quoted.
        if not NAME.fullmatch(known):
            known = f"`{known.replace('`', '``')}`"
        adapter.own_catalog = known
    return known


def with_catalog(adapter: SparkAdapter, relation: str) -> str:
    """Return a relation's name with its catalog; a name of three parts is unchanged.

    The readers of the name may have a catalog with the schema's name: see
    `in_its_catalog`.
    """
    name = str(relation)
    if len(PART_OF_NAME.findall(name)) > 2:
        return name
    return f"{catalog_of(adapter)}.{name}"


def table_of(adapter: SparkAdapter, version: Any) -> str:
    """Return a version's name with its catalog, for code outside of dbt's SQL."""
    catalog = versions_catalog(adapter)
    return f"{catalog}.{version}" if catalog else str(version)


def in_its_catalog(adapter: SparkAdapter, graph: dict[str, Any], query: str) -> str:
    """Add the catalogs to the names of relations and functions in a view's query.

    A reader's session may have a catalog with the name of the schema. Without the
    addition, Spark would read the tables and functions of that catalog, in views too.
    """
    relations = {
        relation_of(node)
        for of_kind in (graph["nodes"], graph["sources"])
        for node in of_kind.values()
    }
    catalog = versions_catalog(adapter)
    if catalog:
        query = in_catalog_of_versions(query, catalog)
    patterns = [NAMED_VERSION.pattern, *map(re.escape, sorted(relations - {""}))]
    # Only schemas: the first part of `builtin.abs(1)` is none.
    schemas = schemas_of_functions(query)
    schemas = schemas and schemas & existing_schemas(adapter)
    query = in_catalog(query, "|".join(patterns), catalog_of(adapter), schemas)
    return _with_snapshots(adapter, query) if catalog else query


def _with_snapshots(adapter: SparkAdapter, query: str) -> str:
    """Add the snapshots to a view's query; raise if a version has lost its own."""
    versions = named_versions(query)
    snapshots = snapshots_of(adapter, versions)
    if lost := sorted(set(versions) - snapshots.keys()):
        raise CompilationError(
            f"{', '.join(lost)} no longer has the snapshot that it was written as, so"
            " no view can show it: run what it belongs to again, with --full-refresh."
        )
    return with_snapshots(query, snapshots)


def without_its_catalog(adapter: SparkAdapter, text: str) -> str:
    """Remove from a view's text what `in_its_catalog` has added.

    A version with a snapshot that is not its own keeps both: somebody has put it there.
    """
    catalog = versions_catalog(adapter)
    if catalog and (versions := versions_with_snapshots(text)):
        text = without_snapshots(text, snapshots_of(adapter, versions))
    text = without_catalog(text, catalog_of(adapter))
    return without_catalog(text, catalog, NAMED_VERSION.pattern) if catalog else text


def text_of_view(adapter: SparkAdapter, view: str) -> str | None:
    """Return a view's query in the metastore; None if the relation is no view."""
    _, text = columns_and_text(adapter, view)
    return text and without_its_catalog(adapter, text)


def columns_and_text(
    adapter: SparkAdapter, view: str
) -> tuple[list[tuple[str, str]], str | None]:
    """Return a relation's columns with their types, and a view's text as it is."""
    told = rows_of(adapter, f"describe extended {view}")
    columns = [(row[0], row[1]) for row in takewhile(lambda row: row[1], told)]
    # Backwards: a column may have this name.
    texts = (row[1] for row in reversed(told) if row[0] == "View Text")
    return columns, next(texts, None)


# The snapshots of versions in Iceberg


def snapshots_of(adapter: SparkAdapter, versions: Iterable[str]) -> dict[str, int]:
    """Return the snapshot that each version was written as, if it still has it.

    They never change, so each is asked for once, many of them in one statement.
    """
    known, wanted = _known_snapshots(adapter), set(versions)
    unknown = sorted(wanted - known.keys())
    for start in range(0, len(unknown), AT_ONCE):
        _look_up(adapter, unknown[start : start + AT_ONCE])
    return {version: known[version] for version in wanted & known.keys()}


def has_its_snapshot(adapter: SparkAdapter, version: str) -> bool:
    """Return whether a version still has the snapshot that it was written as."""
    is_of_iceberg = versions_catalog(adapter) is not None
    return not is_of_iceberg or bool(snapshots_of(adapter, [version]))


def names_snapshots(adapter: SparkAdapter, text: str) -> bool:
    """Return whether a view's text names a snapshot of each version that it reads."""
    return versions_catalog(adapter) is None or (
        sorted(named_versions(text)) == versions_with_snapshots(text)
    )


def first_snapshot(version: str) -> str:
    """Return SQL for the snapshot that a version was written as; null if unknown.

    A version is written in one commit, which has no parent. Nor has the commit of
    somebody who replaced the table, or had one in its place: which came first can't be
    told by clocks.
    """
    return (
        "select case when count(*) = 1 then max(snapshot_id) end"
        f" from {version}.snapshots where parent_id is null"
    )


def rows_with_snapshot(adapter: SparkAdapter, version: str) -> int:
    """Return the number of rows in a version's table, and remember its snapshot.

    Whoever counts the rows makes or reads a view, which names the snapshot.
    """
    if versions_catalog(adapter) is None:
        return int(rows_of(adapter, f"select count(*) from {version}")[0][0])
    query = f"select count(*), ({first_snapshot(version)}) from {version}"
    ((rows, snapshot),) = rows_of(adapter, query)
    _note(adapter, version, snapshot)
    return int(rows)


def _note(adapter: SparkAdapter, version: str, snapshot: Any) -> None:
    """Remember the result of `first_snapshot`."""
    known, name = _known_snapshots(adapter), str(version).lower()
    known.pop(name, None)
    if snapshot is not None:
        known[name] = int(snapshot)


def _known_snapshots(adapter: SparkAdapter) -> dict[str, int]:
    if not hasattr(adapter, "snapshots_written"):
        adapter.snapshots_written = {}
    return adapter.snapshots_written


def _look_up(adapter: SparkAdapter, versions: list[str]) -> None:
    parts = (
        f"select '{each}' as version, ({first_snapshot(each)})" for each in versions
    )
    try:
        rows = rows_of(adapter, " union all ".join(parts))
    except DbtRuntimeError as failure:
        # A view may name a version that somebody has dropped.
        if "NOT_FOUND" not in str(failure):
            raise
        for version in versions if len(versions) > 1 else ():
            _look_up(adapter, [version])
        return
    for version, snapshot in rows:
        _note(adapter, version, snapshot)


# The checks before anything is written


def check_file_formats(adapter: SparkAdapter, graph: dict[str, Any]) -> None:
    """Raise if a version's file format is not one that its catalog stores.

    Unity Catalog's managed tables are Delta or Iceberg.
    """
    catalog = versions_catalog(adapter)
    # A seed without a format is stored as Parquet.
    formats = {
        node["name"]: str(node["config"].get("file_format") or PARQUET).lower()
        for node in graph["nodes"].values()
        if node["config"]["materialized"] in STORED
    }
    if catalog:
        others = _told(formats, lambda kind: kind != ICEBERG)
        if others:
            raise CompilationError(
                f"{others} would not be stored as Iceberg, and the profile's"
                f" versions_catalog {catalog} stores nothing else: write +file_format:"
                " iceberg for models and seeds, or leave versions_catalog out."
            )
    elif adapter.config.credentials.method in OF_DATABRICKS:
        if others := _told(formats, lambda kind: kind == PARQUET):
            raise CompilationError(
                f"{others} would be stored as Parquet, and Databricks' managed"
                " tables are Delta or Iceberg: write +file_format: delta."
            )
    elif others := _told(formats, lambda kind: kind == ICEBERG):
        raise CompilationError(
            f"{others} would be stored as Iceberg, and the profile has no"
            " versions_catalog: name a catalog of Iceberg's there, beside schema, or"
            " write another file_format."
        )


def _told(formats: Mapping[str, str], is_meant: Callable[[str], bool]) -> str:
    """Return the first node with a matching format, and the number of further ones."""
    found = sorted(name for name, kind in formats.items() if is_meant(kind))
    more = f" and {len(found) - 1} more" if found[1:] else ""
    return f"'{found[0]}'{more}" if found else ""


def check_catalogs(adapter: SparkAdapter) -> None:
    """Raise if the views' catalog can't switch views, or the versions' is missing."""
    catalog = versions_catalog(adapter)
    if adapter.config.credentials.method in OF_DATABRICKS:
        # Databricks refuses to show unknown settings, and has its own catalog.
        if catalog is not None:
            raise DbtRuntimeError(
                "versions_catalog of the profile is for Spark with catalogs of"
                " Iceberg's; leave it out on Databricks, which stores Delta."
            )
        return
    own = catalog_of(adapter)
    if ICEBERG in _class_of(adapter, own.strip("`")).lower():
        raise DbtRuntimeError(
            f"The session's catalog {own} is Iceberg's, where a view that is replaced"
            " goes on showing the rows and rights of before. Nothing was published: let"
            f" the profile leave spark.sql.catalog.{own} out, and give Iceberg a"
            " catalog of its own."
        )
    if catalog is None:
        return
    if not NAME.fullmatch(str(catalog)) or str(catalog).lower() == own.lower():
        raise DbtRuntimeError(
            f"versions_catalog of the profile is {catalog!r}; it must be the name of a"
            " catalog of Iceberg's other than the session's own: letters, digits and _."
        )
    if not _class_of(adapter, catalog):
        raise DbtRuntimeError(
            f"versions_catalog of the profile names {catalog!r}, and the session has no"
            f" such catalog: set spark.sql.catalog.{catalog} where the session is"
            " started."
        )


def _class_of(adapter: SparkAdapter, catalog: str) -> str:
    """Return the class of a catalog in the session's settings; empty if none."""
    told = [row[1] for row in rows_of(adapter, f"set spark.sql.catalog.{catalog}")]
    return "" if told == ["<undefined>"] else str(told[0])


def refuse_versions_elsewhere(
    adapter: SparkAdapter, definitions: Mapping[str, str], stores: Iterable[str]
) -> None:
    """Raise if views read versions of these schemas, but not in this run's catalog.

    A version is identified by schema and table, so this run would look for it in its
    own catalog.

    definitions  the views' definitions in the metastore
    stores       the schemas of the versions
    """
    own = {None, catalog_of(adapter).strip("`").lower()}
    catalog = versions_catalog(adapter)
    wanted = {catalog.lower()} if catalog else own
    stores = set(stores)
    for name, told in sorted(definitions.items()):
        for found in WITH_CATALOG.finditer(without_kept(told)):
            there = found["catalog"] and found["catalog"].strip("`").lower()
            is_own = found["version"].lower().split(".")[0] in stores
            if is_own and there not in wanted:
                raise DbtRuntimeError(
                    f"{name} reads versions in the catalog"
                    f" {there or catalog_of(adapter)}, and this run would store its own"
                    f" in {catalog or catalog_of(adapter)}: give this output of"
                    " profiles.yml a schema of its own, or the versions_catalog of"
                    " before."
                )
