"""Ask once for all models of a run what each would ask by itself.

A run with nothing new consists of such questions, and each statement costs more than
its answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt_secure_spark.lineage import relation_of, sources_of
from dbt_secure_spark.raw_files import RawFiles, files_of, read_files
from dbt_secure_spark.run import Run, is_selected
from dbt_secure_spark.versions import MADE_OF, rows_of

logger = AdapterLogger("Spark")


def files_ahead(
    run: Run, graph: dict[str, Any], source: dict[str, Any]
) -> RawFiles | None:
    """Return the state of a raw table's files, from before any model was built.

    All tables that the run only reads are asked for at once, when the first is needed.
    A table that the run writes is asked for now. Hooks may write any table.
    """
    with run.asking_ahead:
        if run.files_ahead is None:
            run.files_ahead = _files_ahead(run, graph)
    name = relation_of(source)
    return run.files_ahead[name] if name in run.files_ahead else files_of(run, source)


def _files_ahead(run: Run, graph: dict[str, Any]) -> dict[str, RawFiles | None]:
    nodes = [*_built(graph)]
    if any(_has_hooks(node) for node in nodes):
        return {}
    read = {
        relation_of(source): source
        for node in nodes
        if node["config"].get("keep_unchanged")
        for source in sources_of(graph, node).values()
    }
    for node in nodes:
        read.pop(relation_of(node), None)
    try:
        return read_files(run, [*read.values()])
    except DbtRuntimeError as failure:
        # The model that reads the table tells of it.
        logger.debug(str(failure))
        return {}


def rows_ahead(run: Run, graph: dict[str, Any], version: str) -> int | None:
    """Return the number of rows of a published version that this run may keep.

    None if it is unknown: the version is not to be kept, a file of some version is
    damaged, or the version stands in a catalog of its own.
    """
    with run.asking_ahead:
        if run.rows_ahead is None:
            run.rows_ahead = _rows_ahead(run, graph)
    return run.rows_ahead.get(version)


def _rows_ahead(run: Run, graph: dict[str, Any]) -> dict[str, int]:
    if run.catalog:
        return {}
    shown = {run.published.version_of(relation_of(node)) for node in _built(graph)}
    told = run.published.versions
    versions = sorted(
        version
        for version in shown
        if version and MADE_OF.search(told.get(version, ""))
    )
    if not versions:
        return {}
    parts = [
        f"select {place} as place from {each}" for place, each in enumerate(versions)
    ]
    try:
        counted = rows_of(
            run.adapter,
            "select place, count(*) as row_count from"
            f" ({' union all '.join(parts)}) as counted group by place",
        )
    except DbtRuntimeError as failure:
        logger.debug(str(failure))
        return {}
    # A version without rows has no group.
    found = dict.fromkeys(versions, 0)
    return found | {versions[int(place)]: int(rows) for place, rows in counted}


def _built(graph: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the nodes that this command builds."""
    return filter(is_selected, graph["nodes"].values())


def _has_hooks(node: dict[str, Any]) -> bool:
    names = ("pre-hook", "pre_hook", "post-hook", "post_hook")
    return any(node["config"].get(name) for name in names)
