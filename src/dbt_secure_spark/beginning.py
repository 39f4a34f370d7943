"""Decide before a version is written what it is made of, and whether it is needed."""

from __future__ import annotations

from typing import Any

from dbt.adapters.spark import SparkAdapter

from dbt_secure_spark.appended import query_of_appended
from dbt_secure_spark.layout import files_for, folders_for
from dbt_secure_spark.lineage import relation_of
from dbt_secure_spark.one_state import in_time_of
from dbt_secure_spark.raw_files import RawFiles
from dbt_secure_spark.run import run_of
from dbt_secure_spark.switching import definition_of
from dbt_secure_spark.unchanged import (
    files_of_sources,
    made_of,
    read_raw_tables,
    version_to_keep,
)


def begin_version(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    relation: Any,
    code: str | None,
    as_of: str | None,
    is_anew: bool,
) -> dict[str, Any]:
    """Return what a node's next version is made of, and the version that stays.

    code     the query, or the Python code; None for a seed
    as_of    the moment of a past state
    is_anew  whether the version is written in any case

    The result has the keys

    raw         the state of the raw tables
    folders     the folders of the version; None for one
    files       the number of its files; None if it makes no difference
    in_time     the rule that shows its rows in time; None if they always hold
    query       the query that writes the version; None if it is the node's own
    made_of     its inputs; None if they are unknown or must not keep a version
    kept        the published version that stays, if the new one would be the same
    definition  the metastore's description of the relation, unless its version stays
    """
    begun: dict[str, Any] = {
        "in_time": in_time_of(adapter, graph, node, as_of),
        "folders": folders_for(adapter, graph, node, code) if code else None,
        "files": None,
        "query": None,
        "definition": None,
    }
    version = run_of(adapter).published.version_of(relation_of(node))
    may_stay = bool(code and version) and not is_anew
    # Files that are written from here to the end of the version are not its inputs.
    files = files_of_sources(adapter, graph, node, is_ahead=may_stay)
    begun |= _inputs(adapter, graph, node, code, begun, files, is_anew)
    if begun["kept"]:
        return begun
    if may_stay and (now := files_of_sources(adapter, graph, node)) != files:
        begun |= _inputs(adapter, graph, node, code, begun, now, is_anew)
    begun["definition"] = definition_of(adapter, relation)
    begun["files"] = files_for(adapter, node) if code else None
    if may_stay:
        made = begun["made_of"]
        begun["query"] = query_of_appended(adapter, graph, node, code, made)
    return begun


def _inputs(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    code: str | None,
    begun: dict[str, Any],
    files: dict[str, RawFiles] | None,
    is_anew: bool,
) -> dict[str, Any]:
    """Return the inputs of the next version, by the state of the raw tables' files."""
    raw = read_raw_tables(adapter, graph, node, None if is_anew else files)
    found = {"raw": raw, "made_of": None, "kept": None}
    if code:
        begun = begun | found
        found["made_of"] = made_of(adapter, graph, node, code, begun, files)
        if not is_anew:
            begun = begun | found
            found["kept"] = version_to_keep(adapter, graph, node, begun)
    return found
