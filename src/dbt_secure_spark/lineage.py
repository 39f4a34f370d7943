"""Find the inputs of relations, in dbt's graph and in the published state.

Imports neither dbt nor Spark: the published state uses it, too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

from dbt_secure_spark.versions import (
    SUFFIX,
    VERSION,
    Published,
    RawRead,
    versions_read,
)

STORED = ("published_view", "seed")
UNSTORED = ("view", "ephemeral")


def digest_of_code(code: str) -> str:
    """Return a digest of a model's code."""
    return hashlib.sha256(code.strip().encode()).hexdigest()


def relation_of(node: dict[str, Any]) -> str:
    """Return a node's or source's relation as in the metastore; empty if none."""
    return in_metastore(node.get("relation_name") or "")


def in_metastore(relation: str) -> str:
    """Return a relation's name in SQL as the metastore has it."""
    return relation.replace("`", "").lower()


def may_name(graph: dict[str, Any], node: dict[str, Any], is_inlined: bool) -> set[str]:
    """Return the nodes that a view's query may name, itself or in inlined queries."""
    found = {node["unique_id"]}
    for unique_id in node["depends_on"].get("nodes", ()):
        found.add(unique_id)
        parent = graph["nodes"].get(unique_id)
        kind = parent["config"]["materialized"] if parent else None
        if kind == "ephemeral" or (kind == "view" and is_inlined):
            found |= may_name(graph, parent, is_inlined)
    return found


def views_read(graph: dict[str, Any], node: dict[str, Any]) -> set[str]:
    """Return the views that a node reads, also through views and ephemerals."""
    read = may_name(graph, node, True) - {node["unique_id"]}
    return {
        unique_id
        for unique_id in read & graph["nodes"].keys()
        if graph["nodes"][unique_id]["config"]["materialized"] == "view"
    }


def sources_of(graph: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Return the raw tables that a node reads, also through views and ephemerals."""
    found = {}
    for unique_id in node["depends_on"].get("nodes", ()):
        if source := graph["sources"].get(unique_id):
            found[unique_id] = source
        parent = graph["nodes"].get(unique_id)
        if parent and parent["config"]["materialized"] in UNSTORED:
            found |= sources_of(graph, parent)
    return found


def read_unbuilt(
    graph: dict[str, Any], selected: Collection[str]
) -> dict[str, list[str]]:
    """Return the nodes that a run's models read but the run skips, with their readers.

    A raw table counts if a seed loads it. An ephemeral model has no relation: its query
    is part of its readers' queries. A model with `meta: {reads_rows: false}` only
    mentions relations in its texts. Data tests do not count: they may check first
    whether a relation exists.

    selected  the unique ids of the nodes that the run builds and tests
    """
    nodes = graph["nodes"]
    builders = {relation_of(node): key for key, node in nodes.items()}
    running = [nodes[key] for key in sorted(selected) if key in nodes]
    running = [node for node in running if node["resource_type"] != "test"]
    built = {relation_of(node) for node in running}
    found: dict[str, list[str]] = {}
    for node in filter(_reads_rows, running):
        waiting = [*node["depends_on"].get("nodes", ())]
        seen: set[str] = set()
        while waiting:
            key = waiting.pop()
            parent = nodes.get(key) or graph["sources"].get(key)
            if parent is None or key in seen:
                continue
            seen.add(key)
            relation = relation_of(parent)
            if parent.get("config", {}).get("materialized") == "ephemeral":
                waiting += parent["depends_on"].get("nodes", ())
            elif relation in builders and relation not in built:
                found.setdefault(builders[relation], []).append(node["name"])
    return found


def _reads_rows(node: dict[str, Any]) -> bool:
    return node["config"].get("meta", {}).get("reads_rows", True) is not False


def relation_of_version(version: str) -> str:
    """Return a version's stored relation."""
    schema, name = version.split(".")
    return f"{schema.removesuffix(SUFFIX)}.{VERSION.sub('', name)}"


def run_of_version(version: str) -> str:
    """Return the name of the run that made a version: it begins with its time."""
    found = VERSION.search(version)
    return found["run"] if found else ""


def ancestors_of_names(graph: dict[str, Any], names: set[str]) -> set[str]:
    """Return the nodes of relations, and all their ancestors."""
    left = [key for key, node in graph["nodes"].items() if relation_of(node) in names]
    found: set[str] = set()
    while left:
        unique_id = left.pop()
        if unique_id in graph["nodes"] and unique_id not in found:
            found.add(unique_id)
            left += graph["nodes"][unique_id]["depends_on"].get("nodes", ())
    return found


def versions_shown(
    graph: dict[str, Any], published: Published, names: set[str]
) -> list[str]:
    """Return the versions that relations show, also through views at any depth."""
    found, nodes = set(names), graph["nodes"]
    for node in nodes.values():
        if relation_of(node) in found and node["config"]["materialized"] == "view":
            found |= {relation_of(nodes[key]) for key in views_read(graph, node)}
    return sorted(
        {
            version
            for name in found
            for version in versions_read(published.definitions.get(name))
        }
    )


def staged_above(
    graph: dict[str, Any], published: Published, names: Collection[str]
) -> list[str]:
    """Return the staged versions among the ancestors of relations, at any depth."""
    above = ancestors_of_names(graph, set(names))
    return [
        version
        for unique_id, node in graph["nodes"].items()
        if unique_id in above
        and node["config"]["materialized"] in STORED
        and sources_of(graph, node)
        and (version := published.version_of(relation_of(node)))
    ]


def made_since(
    graph: dict[str, Any], published: Published, names: Collection[str]
) -> dict[str, list[str]]:
    """Return the inputs made anew since relations were made, and the stale relations.

    - `tables`: the raw tables with different rows staged since.
    - `stored`: further stored relations that the relations show in an older version,
      and seeds among the relations that were loaded since.
    - `of_before`: the stale relations.
    - `not_built`: the relations that are missing.

    The raw reads of the versions must be loaded.
    """
    staged = staged_above(graph, published, names)
    shown = {name: versions_shown(graph, published, {name}) for name in names}
    now: dict[str, list[RawRead]] = {}
    for read in published.reads_of(staged):
        now.setdefault(read.table, []).append(read)
    nodes = {relation_of(node): node for node in graph["nodes"].values()}
    seeds = {
        version: nodes[name]["unique_id"]
        for name in shown
        if name in nodes
        and nodes[name]["resource_type"] == "seed"
        and (version := published.version_of(name))
    }
    tables, stored, of_before = set(), set(), set()
    for name, versions in shown.items():
        for version in versions:
            changed = {
                read.table
                for read in published.reads_of([version])
                for newer in now.get(read.table, ())
                if newer.run != read.run and not newer.found_the_same(read)
            }
            relation = relation_of_version(version)
            made = set()
            # A change of its raw tables is reported by their names.
            if not changed and published.version_of(relation) not in (None, version):
                made.add(relation)
            if newer_seeds := {
                seed for seed in seeds if run_of_version(seed) > run_of_version(version)
            }:
                ancestors = ancestors_of_names(graph, {relation})
                made |= {
                    relation_of_version(seed)
                    for seed in newer_seeds
                    if seeds[seed] in ancestors
                }
            tables |= {table.split(".")[-1] for table in changed}
            stored |= made
            if changed or made:
                of_before.add(name)

    def called(names: set[str]) -> list[str]:
        return sorted(nodes[n]["name"] if n in nodes else n for n in names)

    return {
        "tables": sorted(tables),
        "stored": called(stored),
        "of_before": called(of_before),
        "not_built": called(shown.keys() - published.definitions.keys()),
    }
