"""Find the catalogs of a project's views and of the versions that the views read.

Both are in the session's catalog, unless the profile names a `versions_catalog`, which
stores tables in Iceberg. In all modules but this one, a version's name is its schema
and table: the catalog is added when a statement is sent, and removed when a view's text
is read. The schema of the versions exists in both catalogs: in the session's catalog it
has the locks and the notes of runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.lineage import STORED, relation_of
from dbt_secure_spark.queries import (
    PART_OF_NAME,
    in_catalog,
    in_catalog_of_versions,
    schemas_of_functions,
    without_catalog,
)
from dbt_secure_spark.settings_of_views import OF_DATABRICKS
from dbt_secure_spark.versions import (
    NAMED_VERSION,
    existing_schemas,
    rows_of,
    versions_catalog,
    without_kept,
)

NAME = re.compile(r"\w+")
ICEBERG = "iceberg"
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
    if catalog := versions_catalog(adapter):
        query = in_catalog_of_versions(query, catalog)
    patterns = [NAMED_VERSION.pattern, *map(re.escape, sorted(relations - {""}))]
    # Only schemas: the first part of `builtin.abs(1)` is none.
    schemas = schemas_of_functions(query)
    schemas = schemas and schemas & existing_schemas(adapter)
    return in_catalog(query, "|".join(patterns), catalog_of(adapter), schemas)


def without_its_catalog(adapter: SparkAdapter, text: str) -> str:
    """Remove the catalogs from a view's text that `in_its_catalog` has added."""
    text = without_catalog(text, catalog_of(adapter))
    if catalog := versions_catalog(adapter):
        text = without_catalog(text, catalog, NAMED_VERSION.pattern)
    return text


# The checks before anything is written


def check_file_formats(adapter: SparkAdapter, graph: dict[str, Any]) -> None:
    """Raise if a version's file format is not one that its catalog stores.

    Unity Catalog's managed tables are Delta or Iceberg.
    """
    catalog = versions_catalog(adapter)
    # A seed without a format is stored as Parquet.
    formats = {
        node["name"]: str(node["config"].get("file_format") or "parquet").lower()
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
        if others := _told(formats, lambda kind: kind == "parquet"):
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
