"""How a version lies in storage: its folders, buckets, files and counted values."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.catalogs import table_of
from dbt_secure_spark.folders import (
    AUTO,
    NAME,
    WHOLE_TYPES,
    Buckets,
    Folders,
    cases_of,
    key_of,
    number_for,
    setting_of,
)
from dbt_secure_spark.formats import ANALYZE, DELTA, OF_ICEBERG, format_of
from dbt_secure_spark.lineage import relation_of
from dbt_secure_spark.run import run_of
from dbt_secure_spark.settings_of_views import OF_DATABRICKS
from dbt_secure_spark.versions import rows_of, versions_catalog

logger = AdapterLogger("Spark")

# The errors of an older Iceberg, and of a session that does not know `call`.
HAS_NO_PROCEDURE = re.compile(
    r"compute_table_stats\W* not found|PARSE_SYNTAX_ERROR.*'call'", re.I
)
# One task must sort a file's rows, but fewer files are read faster.
ROWS_IN_A_FILE = 5_000_000


def folders_for(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], code: str
) -> Folders | Buckets | None:
    """Return the folders or buckets of a node's new version; None if it has none.

    If the setting is `auto`, the number of rows of the previous version decides, so the
    first version has none. Raises CompilationError if a fixed number of folders is
    impossible.
    """
    key, number = key_of(node), setting_of(node)
    is_auto = number == AUTO
    if key is None:
        return None
    if is_auto:
        # If all raw tables have too few rows, the version's rows are not counted.
        raw = run_of(adapter).reads_of(graph, node, ())
        is_large = any(number_for(read.rows or 0) > 1 for read in raw)
        number = number_for((is_large and rows_before(adapter, node)) or 0)
    if number == 1:
        return None
    if catalog := run_of(adapter).catalog:
        return buckets_for(adapter, node, code, Buckets(key, number, catalog))
    if not leaves_out_columns(adapter):
        if is_auto:
            return None
        raise CompilationError(f"'{node['name']}' has folders, which need Spark 4.")
    folders = Folders(key, number, cases_of(node))
    # For a different type, Spark takes several spellings for equal to one value.
    if folders.cases and kind_of(adapter, node, key, code) != "string":
        if is_auto:
            return None
        raise CompilationError(
            f"'{node['name']}' has folders_by, and {key}, its first cluster_by, is no"
            " plain string, of whose values the cases are."
        )
    for each in folders.keys:
        if not has_whole_key(adapter, node, each, code):
            if is_auto:
                return None
            called = "by its folders_by" if folders.cases else "its first cluster_by"
            raise CompilationError(
                f"'{node['name']}' has folders, and {each}, {called}, is no whole"
                " number, of which there is a remainder."
            )
    return folders


def buckets_for(
    adapter: SparkAdapter, node: dict[str, Any], code: str, buckets: Buckets
) -> Buckets | None:
    """Return the buckets of a node's new version in Iceberg; None if it has none.

    If buckets are impossible, `auto` gives none, and a fixed number raises
    CompilationError.
    """
    why_not = None
    if cases_of(node):
        why_not = "folders_by, by which versions of Iceberg have no buckets"
    elif not has_whole_key(adapter, node, buckets.key, code):
        why_not = (
            f"folders, and {buckets.key}, its first cluster_by, is no whole number"
        )
    if why_not is None or setting_of(node) == AUTO:
        return buckets if why_not is None else None
    raise CompilationError(f"'{node['name']}' has {why_not}.")


def leaves_out_columns(adapter: SparkAdapter) -> bool:
    """Return whether a view can leave out columns of its version: since Spark 4."""
    return not rows_of(adapter, "select version()")[0][0].startswith("3.")


def files_for(adapter: SparkAdapter, node: dict[str, Any]) -> int | None:
    """Return the number of files of a node's new version; None if any number will do.

    There is one file for each `ROWS_IN_A_FILE` rows of the previous version. The files
    are few, because a query for one value takes longer to open a file than to read its
    rows.
    """
    config = node["config"]
    columns = config.get("cluster_by")
    # Spark's hint for the number of files takes only names of columns.
    are_names = isinstance(columns, list) and all(map(NAME.fullmatch, columns))
    if not (config.get("statistics") and columns and are_names):
        return None
    rows = rows_before(adapter, node)
    return None if rows is None else 1 + rows // ROWS_IN_A_FILE


def rows_before(adapter: SparkAdapter, node: dict[str, Any]) -> int | None:
    """Return the number of rows of a node's published version; None if it has none.

    It stands for the number of the next version, which is known only after the write.
    """
    version = run_of(adapter).published.version_of(relation_of(node))
    return None if version is None else rows_in(adapter, version)


def rows_in(adapter: SparkAdapter, version: str) -> int:
    """Return the number of rows of a version, counted by Spark."""
    return int(rows_of(adapter, f"select count(*) from {version}")[0][0])


def has_whole_key(
    adapter: SparkAdapter, node: dict[str, Any], key: str, code: str
) -> bool:
    """Return whether a key is a whole number, so that it has a remainder."""
    return kind_of(adapter, node, key, code) in WHOLE_TYPES


def kind_of(adapter: SparkAdapter, node: dict[str, Any], column: str, code: str) -> str:
    """Return the type of a column of a node's query.

    For a Python model, return the documented type.
    """
    if node.get("language") == "python":
        return (node["columns"].get(column, {}).get("data_type") or "").lower()
    query = f"describe query select `{column}` from (\n{code}\n) as of_query"
    return str(rows_of(adapter, query)[0][1]).lower()


def count_values(
    adapter: SparkAdapter, version: Any, columns: Iterable[str], file_format: str | None
) -> None:
    """Count the values of a version's columns, so that Spark plans by them.

    Without them a query for one user may read a whole base. An Iceberg that can't count
    is a warning.
    """
    statement = format_of(file_format).statistics
    is_databricks = adapter.config.credentials.method in OF_DATABRICKS
    if is_databricks and str(file_format).lower() == DELTA:
        # Databricks counts the values of its own tables.
        statement = ANALYZE
    if statement == ANALYZE:
        listed = ", ".join(columns)
        adapter.execute(statement.format(table=version, columns=listed))
    elif statement == OF_ICEBERG and versions_catalog(adapter):
        _count_in_iceberg(adapter, version, columns)


def _count_in_iceberg(
    adapter: SparkAdapter, version: Any, columns: Iterable[str]
) -> None:
    # Iceberg finds a column only in the letters of its own name.
    told = rows_of(adapter, f"describe table {version}")
    known = {str(row[0]).lower(): row[0] for row in told}
    named = [known.get(each.strip("`").lower(), each) for each in columns]
    statement = OF_ICEBERG.format(
        catalog=versions_catalog(adapter),
        table=table_of(adapter, version),
        columns=", ".join(f"'{each}'" for each in named),
    )
    try:
        adapter.execute(statement)
    except DbtRuntimeError as failure:
        (why, *_) = failure.msg.strip().splitlines()
        if not HAS_NO_PROCEDURE.search(why):
            raise
        if not getattr(adapter, "has_warned_of_counting", False):
            logger.warning(
                f"The values of {version} and of later versions are not counted, so a"
                " query for one user may read whole bases. It takes Iceberg's"
                f" compute_table_stats, as 1.10 has it, and its extension: {why}"
            )
        adapter.has_warned_of_counting = True
