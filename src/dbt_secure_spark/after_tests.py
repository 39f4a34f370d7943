"""Keep secure datasets from showing new rows and rights before their data tests pass.

With ``vars: {publish_after_tests: true}``, a secure dataset that has data tests takes
two steps to a new query. First it is narrowed, so that a revoked right acts at once.
Then the tests read the new query in its place. When all nodes have run, it switches to
the new query if each of its tests passed or only warned; otherwise it stays narrowed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt.artifacts.schemas.results import RunStatus, TestStatus
from dbt_common.exceptions import CompilationError

from dbt_secure_spark.catalogs import in_its_catalog, text_of_view
from dbt_secure_spark.left_behind import mark_what_stayed
from dbt_secure_spark.lineage import UNSTORED, relation_of, views_read
from dbt_secure_spark.one_state import versions_before, with_texts
from dbt_secure_spark.queries import reads_narrowed
from dbt_secure_spark.run import Run, Untested, is_selected
from dbt_secure_spark.switching import begin_switch, definition_of

PASSED = (TestStatus.Pass, TestStatus.Warn)


def nodes_to_test(run: Run, graph: dict[str, Any], node: dict[str, Any]) -> set[str]:
    """Return the nodes whose data tests must pass before a view shows a new query.

    These are the node itself, if it is a secure dataset with tests, and the nodes that
    the untested views in its query wait for.
    """
    found = {node["unique_id"]} if _is_tested(graph, node) else set()
    if node["config"].get("inline_views"):
        above = views_read(graph, node)
        for view in list(run.untested.values()):
            found |= view.waits_for if view.unique_id in above else set()
    return found


def check_what_is_stored(adapter: SparkAdapter, graph: dict[str, Any]) -> None:
    """Raise if this command stores rows of a secure dataset that waits for its tests.

    The stored model would hold the narrowed rows. An earlier run may have left them.
    """
    for node in graph["nodes"].values():
        kind = node["config"]["materialized"]
        if node["resource_type"] not in ("model", "snapshot") or kind in UNSTORED:
            continue
        if not is_selected(node):
            continue
        for unique_id in sorted(views_read(graph, node)):
            read = graph["nodes"][unique_id]
            if not _is_tested(graph, read):
                continue
            if not is_selected(read) and _is_narrowed(adapter, read):
                raise CompilationError(
                    f"'{node['name']}' stores rows of '{read['name']}', which does not"
                    " show all of them before its tests pass: run dbt build without"
                    f" '{node['name']}' first."
                )
            if is_selected(read):
                raise CompilationError(
                    f"'{node['name']}' stores rows of '{read['name']}', which waits for"
                    " its tests until the end of this run (publish_after_tests): leave"
                    f" '{node['name']}' out, and run it after this run."
                )


def rows_to_test(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    sql: str,
    after_tests: bool,
) -> str:
    """Return a test's query over the queries that views wait to show.

    Raises CompilationError for a test that would judge what an earlier run left.

    after_tests  whether secure datasets wait for their tests
    """
    run = getattr(adapter, "dbt_run", None)
    waiting = {view.unique_id for view in list(run.untested.values())} if run else set()
    above = views_read(graph, node)
    for unique_id in sorted(above - waiting) if after_tests else ():
        read = graph["nodes"][unique_id]
        if _is_tested(graph, read) and _is_narrowed(adapter, read):
            raise CompilationError(
                f"'{node['name']}' reads '{read['name']}', which does not show all its"
                " rows and rights yet: run dbt build."
            )
    if run is None or not waiting:
        return sql
    views = {
        relation_of(each)
        for each in graph["nodes"].values()
        if _is_view(each) and {each["unique_id"], *views_read(graph, each)} & waiting
    }
    tested = with_texts(node["name"], sql, views, run.text_to_read)
    if tested == sql and above & waiting:
        raise CompilationError(
            f"'{node['name']}' does not name in its query what waits for it: write"
            " ref() where its rows are read."
        )
    return tested


def switch_tested(
    adapter: SparkAdapter, graph: dict[str, Any], results: list[Any], level: str
) -> None:
    """Switch each view whose tests passed, and mark each node that was not moved whole.

    This is the first hook after a run, so that no later one that fails leaves such a
    node as a success.

    results  the results that dbt hands to on-run-end
    level    the status of what stayed: warn or error
    """
    run = getattr(adapter, "dbt_run", None)
    if run is None:
        return
    by_id = {result.node.unique_id: result for result in results}
    statuses = {key: result.status for key, result in by_id.items()}
    # A node that failed after its switch has an error of its own.
    waiting = {
        view.unique_id: view
        for view in run.untested.values()
        if statuses.get(view.unique_id) == RunStatus.Success
    }
    run.untested.clear()
    try:
        for unique_id, view in list(waiting.items()):
            if why := _why_not_passed(graph, view.waits_for, statuses):
                _wait(run, graph, by_id[unique_id], view, why)
            else:
                _switch(adapter, run, graph, view)
            del waiting[unique_id]
    finally:
        for unique_id, view in waiting.items():
            _wait(run, graph, by_id[unique_id], view, "the run failed at its end")
        mark_what_stayed(results, run.stayed, level)


def _wait(
    run: Run, graph: dict[str, Any], result: Any, view: Untested, why: str
) -> None:
    """Note why a view is not switched; it is an error if the view is not narrowed."""
    called = graph["nodes"][view.unique_id]["name"]
    told = f"'{called}' {view.meanwhile}: {why}. New rows and new rights wait."
    told += " Run dbt build."
    if view.is_narrowed:
        run.stayed[view.unique_id] = told
    else:
        result.status = RunStatus.Error
        result.message = told


def _switch(
    adapter: SparkAdapter, run: Run, graph: dict[str, Any], view: Untested
) -> None:
    definition = definition_of(adapter, view.relation)
    query = in_its_catalog(adapter, graph, view.query)
    before = versions_before(adapter, definition)
    kept = begin_switch(adapter, view.relation, query, before)
    alter = f"alter view {view.relation}"
    adapter.execute(f"{alter} set tblproperties ('kept_versions' = '{kept}')")
    run.lock.check()
    adapter.execute(f"{alter} as\n{query}")


def _why_not_passed(
    graph: dict[str, Any], waits_for: Collection[str], statuses: Mapping[str, str]
) -> str | None:
    """Return which data tests of some nodes have not passed; None if all have."""
    tests = sorted(
        (node["name"], statuses.get(node["unique_id"]))
        for node in graph["nodes"].values()
        if _is_test_of(node, waits_for)
    )
    ran = (*PASSED, TestStatus.Fail, TestStatus.Error)
    failed = [name for name, status in tests if status in ran and status not in PASSED]
    if failed:
        return f"{', '.join(failed)} failed"
    missing = [name for name, status in tests if status not in ran]
    return f"{', '.join(missing)} did not run" if missing else None


def _is_tested(graph: dict[str, Any], node: dict[str, Any]) -> bool:
    """Return whether a node is a secure dataset with data tests."""
    is_secure = bool(node["config"].get("narrowing"))
    return is_secure and any(
        _is_test_of(each, (node["unique_id"],)) for each in graph["nodes"].values()
    )


def _is_narrowed(adapter: SparkAdapter, node: dict[str, Any]) -> bool:
    """Return whether a view shows less than its query."""
    return reads_narrowed(text_of_view(adapter, relation_of(node)) or "")


def _is_test_of(node: dict[str, Any], unique_ids: Collection[str]) -> bool:
    if node["resource_type"] != "test":
        return False
    return not {*node["depends_on"].get("nodes", ())}.isdisjoint(unique_ids)


def _is_view(node: dict[str, Any]) -> bool:
    is_model = node["resource_type"] == "model"
    return is_model and node["config"]["materialized"] == "view"
