"""Let each view read the versions of one state, or say why it can not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError

from dbt_secure_spark.catalogs import (
    table_of,
    text_of_view,
)
from dbt_secure_spark.folders import (
    Folders,
    cases_of,
    with_folders,
)
from dbt_secure_spark.functions import may_read_tables
from dbt_secure_spark.in_time import (
    NOW,
    InTime,
    holds_in_time,
    without_shown,
)
from dbt_secure_spark.layout import leaves_out_columns
from dbt_secure_spark.lineage import (
    STORED,
    relation_of,
    relation_of_version,
)
from dbt_secure_spark.published_state import (
    columns_of,
    fields_of,
)
from dbt_secure_spark.queries import (
    functions_of_people,
    names,
    parts_of_narrowed,
    reads_narrowed,
    relations_read,
    replaced,
    shows_rows_of_nobody,
    with_queries,
)
from dbt_secure_spark.run import OldVersion, deferred_of, run_of, unnamed_parents
from dbt_secure_spark.settings import as_of_text
from dbt_secure_spark.versions import (
    definitions,
    definitions_of_versions,
    named_versions,
    raw_reads,
    versions_kept,
    versions_read,
    written_on,
)

# In characters. Only views that name views twice, many layers deep, need more.
LONGEST_QUERY = 1_000_000


def pin_versions(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    sql: str,
    old: Mapping[str, OldVersion] | None = None,
) -> dict[str, Any]:
    """Replace the published relations that a view's query names by their versions.

    Returns a dictionary:

    sql        the query with versions
    why_not    why the view must not switch to it; None if it may
    is_pinned  whether the query reads versions
    read       the versions that must be of one state; None if that was not checked

    A view with `reads_latest` keeps the published names of its parents. Any view keeps
    the name of a parent with `reads_latest`: see `is_latest`. With `inline_views`, the
    queries of the views that the query names are part of it, so that a later change of
    a view changes nothing here.

    old  the versions to read instead of the published ones, by relation, if the view is
         narrowed
    """
    is_narrowed, old = old is not None, old or {}
    is_inlined = bool(node["config"].get("inline_views"))
    if is_inlined:
        sql = with_inlined_views(adapter, graph, node, sql, is_narrowed)
    if deferred := deferred_in(graph, sql, is_inlined):
        why_not = (
            f"it would read {deferred}, by --defer, and what is published in another"
            " schema may change under it"
        )
        return pinned(sql, why_not, is_pinned=False)
    if node["config"].get("reads_latest"):
        return pinned(sql, is_pinned=False)
    sql, read = with_versions(adapter, graph, node, sql, old)
    if is_inlined:
        refuse_what_changes(adapter, graph, node, sql)
    if is_inlined and (unnamed := unnamed_parents(adapter, graph, node, sql, True)):
        why_not = (
            f"its query does not name {', '.join(unnamed)}, which its model reads, and"
            " may hold values that dbt asked for while it rendered it"
        )
        return pinned(sql, why_not)
    if not is_narrowed and reads_narrowed(sql):
        why_not = (
            "it reads a secure dataset that shows the rows of before, to those who may"
            " see them both before and now"
        )
        return pinned(sql, why_not)
    run = run_of(adapter)
    return pinned(sql, run.why_no_one_state(graph, run.published.reads_of(read)), read)


def pinned(
    sql: str,
    why_not: str | None = None,
    read: list[str] | None = None,
    is_pinned: bool = True,
) -> dict[str, Any]:
    """Return a result of `pin_versions`."""
    return {"sql": sql, "why_not": why_not, "is_pinned": is_pinned, "read": read}


def deferred_in(graph: dict[str, Any], sql: str, is_inlined: bool) -> str | None:
    """Return a relation that a query reads by `--defer`; None if there is none."""
    for parent in graph["nodes"].values():
        deferred = deferred_of(parent)
        is_pinned = is_inlined or parent["config"]["materialized"] in STORED
        if is_pinned and deferred and names(sql, deferred):
            return deferred
    return None


def with_versions(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    sql: str,
    old: Mapping[str, OldVersion],
) -> tuple[str, list[str]]:
    """Return a query with versions for published relations, and the versions it reads.

    A seed's version is left out of the list unless the query itself names it: seeds
    read no raw table. The sample's seeds are raw tables, but only staging reads them.
    """
    published = run_of(adapter).published
    is_inlined = bool(node["config"].get("inline_views"))
    read: list[str] = versions_read(sql)
    for parent in graph["nodes"].values():
        name = parent.get("relation_name")
        # An analysis has the config of a model, and no relation.
        if not name or parent["config"]["materialized"] not in STORED:
            continue
        if is_latest(parent, is_inlined) or not names(sql, name):
            continue
        version = published.version_of(name)
        told = published.definitions.get(name.lower())
        if relation_of(parent) in old:
            version, told = old[relation_of(parent)]
        if version is None:
            raise CompilationError(
                f"No published version of '{parent['name']}' was found, which"
                f" '{node['name']}' reads: run it first."
            )
        if parent["resource_type"] != "seed":
            read.append(version)
        if folders := Folders.read(told, cases_of(parent)):
            sql = with_folders(node["name"], sql, name, version, folders)
        elif in_time := InTime.read(told):
            rows = in_time.published_rows(version)
            sql = with_queries(node["name"], sql, {name.lower()}, lambda _, r=rows: r)
        sql = replaced(sql, name, version)
    # The versions in the queries of inlined views.
    for version in versions_read(sql):
        if relation_of_version(version) in old:
            sql = replaced(sql, version, old[relation_of_version(version)].version)
    refuse_without_time(graph, node, sql)
    return sql, read


def refuse_without_time(graph: dict[str, Any], node: dict[str, Any], sql: str) -> None:
    """Raise if a query would show rows that hold for a time without checking the time.

    Their version was published before the node had the setting `in_time`.
    """
    nodes = graph["nodes"]
    for parent in nodes.values():
        if not parent["config"].get("in_time") or not holds_in_time(nodes, parent):
            continue
        versions = map(relation_of_version, named_versions(without_shown(sql)))
        if relation_of(parent) in versions:
            raise CompilationError(
                f"'{node['name']}' would show the rows of '{parent['name']}'"
                f" outside their time: run '+{node['name']}'."
            )


def is_latest(node: dict[str, Any], is_inlined: bool) -> bool:
    """Return whether a node is read by its published name, as `reads_latest` asks.

    A view with `inline_views` is of one state, so it reads only seeds by this name:
    they come from no raw table.
    """
    of_raw = node["resource_type"] != "seed"
    return bool(node["config"].get("reads_latest")) and not (is_inlined and of_raw)


def with_inlined_views(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    sql: str,
    is_narrowed: bool = False,
) -> str:
    """Replace the views that a node's query reads by their queries, at any depth.

    is_narrowed  whether the node is being narrowed: narrowed views that it reads are
                 then replaced by their current query alone
    """

    def text_of(view: str) -> str:
        text = run_of(adapter).text_to_read(view)
        identifier = view.split(".")[-1]
        return parts_of_narrowed(text, identifier)[1] if is_narrowed else text

    views = {
        relation_of(other)
        for other in graph["nodes"].values()
        if other["resource_type"] == "model"
        and other["config"]["materialized"] == "view"
        and other.get("relation_name")
    }
    return with_texts(node["name"], sql, views, text_of)


def with_texts(
    name: str, sql: str, views: set[str], text_of: Callable[[str], str]
) -> str:
    """Replace views by their queries at any depth, in the query of a node."""
    # Views are nested at most as deep as there are views.
    for _ in views:
        if not any(names(sql, view) for view in views):
            break
        before, sql = sql, with_queries(name, sql, views, text_of)
        if len(sql) > LONGEST_QUERY:
            raise CompilationError(
                f"With the queries of the views that '{name}' reads its query becomes"
                " too long: let one of them be a published_view."
            )
        if sql == before:
            break
    return sql


def shows_public_rows(adapter: SparkAdapter, relation: Any) -> bool | None:
    """Return whether a secure dataset shows rows to everyone; None if unknown."""
    return shows_rows_of_nobody(text_of_view(adapter, str(relation)))


def refuse_what_changes(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], sql: str
) -> None:
    """Raise if a view of one state reads anything but versions.

    Seeds with `reads_latest` are allowed. Functions that may read tables are not.
    """
    latest = {
        relation_of(parent)
        for parent in graph["nodes"].values()
        if is_latest(parent, True)
    }
    versions = set(versions_read(sql))
    for table in relations_read(node["name"], sql):
        if table not in versions and table not in latest:
            raise CompilationError(
                f"'{node['name']}' reads {table}, which is no version: its rows would"
                " change under rights that were read before. Let it be, or let what"
                " stands between them be, materialized: published_view."
            )
    for function, may_be_none in functions_of_people(node["name"], sql).items():
        if may_read_tables(adapter, function, may_be_none):
            raise CompilationError(
                f"'{node['name']}' calls {function}, which may read tables: their rows"
                " would change under rights that were read before."
            )


def versions_before(
    adapter: SparkAdapter, definition: str | None, to_keep: int | None = None
) -> list[str]:
    """Return the versions that stay when a view is switched.

    A stored relation keeps the newest `to_keep - 1` versions, besides the new one. A
    plain view has no versions of its own: the versions that it read stay.
    """
    read = versions_read(definition)
    if to_keep is None:
        return read
    return list(dict.fromkeys(read + versions_kept(definition)))[: to_keep - 1]


def version_before(
    adapter: SparkAdapter, schema: str, identifier: str
) -> dict[str, str] | None:
    """Return a view's previous version, and when the run of the present one began.

    None if there is none, or if the two can't be compared, since their columns or their
    raw tables differ.
    """
    name = identifier.lower()
    told = definitions(adapter, schema, name).get(name)
    now, kept = versions_read(told), versions_kept(told)
    if len(now) != 1 or not kept:
        return None
    store = now[0].partition(".")[0]
    names = [version.rpartition(".")[2] for version in (now[0], kept[0])]
    found = definitions_of_versions(adapter, store, "|".join(names))
    of_both = []
    for text in map(found.get, names):
        reads = raw_reads(text)
        if reads is None:
            return None
        columns = columns_of(fields_of(text)["Schema"])
        of_both.append((columns, {read.table for read in reads}))
    since = written_on(now[0])
    if of_both[0] != of_both[1] or since is None:
        return None
    return {"version": kept[0], "since": since}


def read_by(adapter: SparkAdapter, definition: str | None) -> list[str]:
    """Return the versions that a view's definition reads, for macros."""
    return versions_read(definition)


def in_time_of(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any], as_of: Any
) -> InTime | None:
    """Return how a node's view checks the time of its rows; None if they always hold.

    as_of  the moment of a past state; None for the present
    """
    if not holds_in_time(graph["nodes"], node):
        return None
    if node["config"].get("folders"):
        raise CompilationError(
            f"'{node['name']}' has rows that hold for a time, and folders: leave out"
            " one of the two."
        )
    if not leaves_out_columns(adapter):
        raise CompilationError(
            f"'{node['name']}' has rows that hold for a time, which need Spark 4."
        )
    clock = NOW if as_of is None else f"timestamp '{as_of_text(adapter, as_of)}Z'"
    setting = node["config"]["in_time"]
    return InTime(setting if isinstance(setting, str) else None, clock)


def whole_versions(
    adapter: SparkAdapter, graph: dict[str, Any], node: dict[str, Any]
) -> dict[str, str]:
    """Return the versions that a node reads with the rows of all times, by relation."""
    if not node["config"].get("in_time"):
        return {}
    published, found = run_of(adapter).published, {}
    for unique_id in node["depends_on"].get("nodes", ()):
        parent = graph["nodes"].get(unique_id)
        if parent is None or not holds_in_time(graph["nodes"], parent):
            continue
        relation = relation_of(parent)
        version = published.version_of(relation)
        is_in_time = InTime.read(published.definitions.get(relation)) is not None
        if version is None or not is_in_time or run_of(adapter).deferred(parent):
            raise CompilationError(
                f"'{node['name']}' reads '{parent['name']}', whose rows hold for a"
                " time, and of which no version that says so is published here: run"
                f" '+{node['name']}'."
            )
        found[relation] = table_of(adapter, version)
    return found
