"""Report the views that don't show a run's new state, to machines and people."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import SparkAdapter
from dbt.artifacts.schemas.results import RunStatus, TestStatus
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.lineage import STORED, relation_of, relation_of_version
from dbt_secure_spark.queries import AS_OF
from dbt_secure_spark.raw_tables import CONTENT, columns_of, hash_of_row
from dbt_secure_spark.run import Run
from dbt_secure_spark.versions import NAMED_VERSION, rows_of, versions_read

logger = AdapterLogger("Spark")
SHOWN = re.compile(rf"(?P<version>{NAMED_VERSION.pattern})(?:{AS_OF.pattern})?", re.I)


def mark_what_stayed(results: list[Any], stayed: dict[str, str], level: str) -> None:
    """Set the results of nodes that were not switched whole to `warn` or `error`.

    dbt writes them to run_results.json and prints their messages last of all. A dbt
    materialization can only succeed, or fail and skip its descendants, which have to be
    narrowed too; so the status is set when all nodes have run. With --warn-error a
    warning is an error. A node that failed before its switch keeps its own error.

    stayed  a message for each node, by its unique_id
    """
    options = get_flags()
    told = getattr(options, "WARN_ERROR_OPTIONS", None)
    are_errors = bool(getattr(options, "WARN_ERROR", False)) or (
        getattr(told, "error", None) in ("all", "*")
    )
    for result in results:
        sentence = stayed.get(result.node.unique_id)
        if sentence and result.status == RunStatus.Success:
            is_error = level == "error" or are_errors
            result.status = RunStatus.Error if is_error else TestStatus.Warn
            result.message = sentence


def views_left_behind(
    adapter: SparkAdapter, graph: dict[str, Any], results: list[Any]
) -> dict[str, list[str]]:
    """Return the views that a run has left on rows or rights that it has moved.

    `not_run` lists the views that the run skipped. `over_others` lists the views that
    it built over skipped views, each followed by the skipped inputs. Views that stayed
    or failed are in neither: dbt reports them by itself.
    """
    run = getattr(adapter, "dbt_run", None)
    if run is None:
        return {"not_run": [], "over_others": []}
    built = {
        result.node.unique_id
        for result in results
        if result.status == RunStatus.Success
    } - run.stayed.keys()
    said = {
        result.node.unique_id for result in results if result.status == RunStatus.Error
    } | run.stayed.keys()
    candidates = behind(graph, built)
    left = _views(graph, candidates, said)
    if left:
        # Only nodes that a view behind reads are compared.
        above = {parent for each in candidates for parent in _ancestors(graph, each)}
        unmoved = _unmoved(adapter, graph, run, built & above)
        candidates = behind(graph, built, built - unmoved)
        left = _views(graph, candidates, said)
    not_run, over_others = [], []
    for node in sorted(left, key=lambda node: node["name"]):
        if node["unique_id"] in built:
            over = parents_that_are_built(graph, node) & candidates
            names = sorted(graph["nodes"][each]["name"] for each in over)
            over_others.append(f"{node['name']} ({', '.join(names)})")
        elif relation_of(node) in run.published.definitions:
            not_run.append(node["name"])
    return {"not_run": not_run, "over_others": over_others}


def _views(
    graph: dict[str, Any],
    candidates: Collection[str],
    said: Collection[str],
) -> list[dict[str, Any]]:
    nodes = (graph["nodes"][unique_id] for unique_id in candidates - said)
    return [node for node in nodes if node["config"]["materialized"] == "view"]


def behind(
    graph: dict[str, Any], built: set[str], moved: set[str] | None = None
) -> set[str]:
    """Return the models that don't show the nodes that were built.

    A view reads its versions by name, so it does not show rows built without it, nor
    rows that a node in between was not built from. Never behind are:

    - a view that reads the latest published state;
    - a view, of one state or not, over a seed that is read as the latest;
    - a plain view over a view that was built.

    built  the nodes that were built
    moved  the built nodes that show a new state; by default, all
    """
    moved = built if moved is None else moved
    nodes = graph["nodes"]
    latest = {key for key, node in nodes.items() if node["config"].get("reads_latest")}
    views = {
        key
        for key, node in nodes.items()
        if node["resource_type"] == "model" and node["config"]["materialized"] == "view"
    }
    # A view of one state reads only seeds in their latest state.
    seeds = {key for key in latest if nodes[key]["resource_type"] == "seed"}
    models = {
        key: parents_that_are_built(graph, node)
        for key, node in nodes.items()
        if node["resource_type"] == "model"
        and node["config"]["materialized"] != "ephemeral"
    }
    inlined = {key for key in views if nodes[key]["config"].get("inline_views")}
    by_name = {key: models[key] & (views | latest) for key in views}
    by_name |= {key: models[key] & seeds for key in inlined}
    by_name |= {key: models[key] for key in views & latest}
    # Every view above a seed in its latest state shows it, and what is stored does not.
    stored_above, of_one_state = (
        _with_views_by_name(some, by_name) for some in (moved, moved - seeds)
    )
    found: set[str] = set()
    # The graph has no order: repeat until a round adds nothing.
    while True:
        more, shown = set(), _with_views_by_name(found, by_name)
        for key in models.keys() - built - latest - found:
            if key in inlined:
                counts = of_one_state
            else:
                counts = moved - views - latest if key in views else stored_above
            if models[key] & (counts | shown):
                more.add(key)
        if not more:
            return found
        found |= more


def _with_views_by_name(moved: set[str], by_name: dict[str, set[str]]) -> set[str]:
    """Add to nodes that show a new state the views that show it without being run.

    by_name  the parents that each view reads as they are
    """
    found = set(moved)
    while more := {key for key in by_name.keys() - found if by_name[key] & found}:
        found |= more
    return found


def parents_that_are_built(graph: dict[str, Any], node: dict[str, Any]) -> set[str]:
    """Return a model's parents, each ephemeral one replaced by its own parents."""
    found: set[str] = set()
    for unique_id in node["depends_on"].get("nodes", ()):
        parent = graph["nodes"].get(unique_id)
        if parent and parent["config"]["materialized"] == "ephemeral":
            found |= parents_that_are_built(graph, parent)
        else:
            found.add(unique_id)
    return found


def _ancestors(graph: dict[str, Any], unique_id: str) -> set[str]:
    left, found = [unique_id], set()
    while left:
        node = graph["nodes"].get(left.pop())
        parents = set(node["depends_on"].get("nodes", ())) if node else set()
        left += parents - found
        found |= parents
    return found


def _unmoved(
    adapter: SparkAdapter, graph: dict[str, Any], run: Run, built: Iterable[str]
) -> set[str]:
    """Return the nodes that this run has built and that show the same as before.

    If an earlier run has left a view on an older version, that version counts, too.
    """
    pairs: dict[str, set[tuple[str, str]]] = {}
    read: dict[str, set[str]] = {}
    for told in run.published.definitions.values():
        for version in versions_read(told):
            read.setdefault(relation_of_version(version), set()).add(version)
    for unique_id in built:
        node = graph["nodes"][unique_id]
        if node["config"]["materialized"] not in (*STORED, "view"):
            continue
        name = relation_of(node)
        # Its version stayed.
        if name not in run.told_before:
            pairs[unique_id] = set()
        elif changed := _versions_traded(
            run.told_before[name] or "", run.published.definitions[name]
        ):
            pairs[unique_id] = changed
        if unique_id in pairs and (now := run.published.version_of(name)):
            pairs[unique_id] |= {(version, now) for version in read.get(name, ())}
    try:
        equal = _equal_pairs(adapter, set().union(*pairs.values()))
    except DbtRuntimeError as failure:
        # Every node with traded versions may have moved.
        logger.debug(str(failure))
        return {unique_id for unique_id, traded in pairs.items() if not traded}
    return {unique_id for unique_id, traded in pairs.items() if traded <= equal}


def _versions_traded(before: str, now: str) -> set[tuple[str, str]] | None:
    """Return the versions that a view read before and reads now, in pairs.

    None if its query differs in anything else.
    """
    query = now.rpartition(" kept_versions=")[0]
    old, new = versions_read(before), versions_read(now)
    relations = [relation_of_version(version) for version in new]
    is_same = re.search(
        rf"View Text: {re.escape(_without_versions(query))}\n[A-Z][A-Za-z ]*: ",
        _without_versions(before),
    )
    if not is_same or [relation_of_version(version) for version in old] != relations:
        return None
    return set(zip(old, new, strict=True))


def _without_versions(text: str) -> str:
    """Return a text with relations in the place of their versions and snapshots."""
    return SHOWN.sub(
        lambda found: relation_of_version(found["version"].lower()), text.strip()
    )


def _equal_pairs(
    adapter: SparkAdapter, pairs: set[tuple[str, str]]
) -> set[tuple[str, str]]:
    """Return the pairs of versions that hold the same rows."""
    versions = sorted({each for old, new in pairs if old != new for each in (old, new)})
    if not versions:
        return pairs
    parts = [
        f"select '{version}' as version, count(*) as row_count, {CONTENT} as content"
        f" from (select {hash_of_row(columns_of(adapter, version))} as content"
        f" from {version}) as of_version"
        for version in versions
    ]
    held = {
        row[0]: tuple(row[1:]) for row in rows_of(adapter, " union all ".join(parts))
    }
    return {(old, new) for old, new in pairs if old == new or held[old] == held[new]}
