"""Narrow a secure dataset that can't move to the new state whole.

A partial run may publish rights of one state beside rows of a different one. A secure
dataset does not switch to such a mixture, but to the intersection of two queries:

before  the query that it last switched to whole: one state of the raw tables
now     the query of its model now, over the same versions of its rows and the newest
        versions of everything that decides rights

A user sees a row if both queries show it to this user. Its values:

- The value stays if both queries show it.
- The masked value is shown if one value is the result of the column's mask for both.
- Otherwise the value is null.

Two kinds of masks would show what they hide: a mask that undoes itself, and a mask that
undoes a different mask of `before`. So the second case compares the masks of both
values, and requires that `before` has no mask of the column that `now` lacks.

So a revoked right and a stricter policy act at once, and nothing shows that `before`
does not show.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.after_tests import nodes_to_test
from dbt_secure_spark.catalogs import text_of_view
from dbt_secure_spark.folders import Folders
from dbt_secure_spark.in_time import of_columns
from dbt_secure_spark.lineage import UNSTORED, relation_of, relation_of_version
from dbt_secure_spark.one_state import LONGEST_QUERY, pin_versions
from dbt_secure_spark.queries import (
    name_of_untested,
    names_of_narrowed,
    parts_of_narrowed,
    pieces_of_statement,
    quoted,
    read_by_conditions,
    shows_rows_of_nobody,
    values_made,
)
from dbt_secure_spark.run import OldVersion, Untested, run_of
from dbt_secure_spark.switching import definition_of, stay
from dbt_secure_spark.versions import (
    Published,
    named_versions,
    rows_of,
    versions_read,
)

USER = "user_id"
NARROWED = "shows the rows of before, to those who may see them both before and now"
# Spark does not compare values of these types, or takes different texts for equal.
NOT_COMPARED = re.compile(r"\b(map<|variant\b|collate\b)")
FOLDER = re.compile(r"\w+__mod_\d+")


def query_of_view(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    relation: Any,
    sql: str,
    after_tests: bool = False,
) -> str | None:
    """Return the query that a view switches to; None if the view stays as it is.

    Raises CompilationError if a secure dataset can neither move nor be narrowed.

    after_tests  whether a secure dataset shows a new query only after its data tests
    """
    pinned = pin_versions(adapter, graph, node, sql)
    why_not = pinned["why_not"]
    if not why_not:
        return moved(adapter, graph, node, relation, sql, pinned, after_tests)
    narrowing = node["config"].get("narrowing")
    is_there = definition_of(adapter, relation) is not None
    if narrowing and is_there and not pinned["is_pinned"]:
        raise CompilationError(
            f"'{node['name']}' still shows the rights of before, revoked ones too:"
            f" {why_not}. Run '+{node['name']}'."
        )
    if not (narrowing and is_there):
        stay(adapter, relation, node, why_not)
        return None
    try:
        before = whole_query(text_of_view(adapter, str(relation)), relation.identifier)
        if is_of_one_state(pinned["read"], before):
            return moved(adapter, graph, node, relation, sql, pinned, after_tests)
        query = narrowed(adapter, graph, node, relation, sql, pinned["sql"], before)
    except DbtRuntimeError as failure:
        raise CompilationError(
            f"'{node['name']}' still shows the rights of before, revoked ones too:"
            f" {why_not}; and it can't be narrowed to the rights of now:"
            f" {failure.msg}. Run '+{node['name']}'."
        ) from failure
    run = run_of(adapter)
    kept = "".join(
        f" '{name}' is as before, and so is what it decides, revoked rights too."
        for name in views_of_before(run.published, graph, node)
    )
    run.stayed[node["unique_id"]] = (
        f"'{node['name']}' {NARROWED}: {why_not}. New rows and new rights wait.{kept}"
        f" Run '+{node['name']}'."
    )
    return query


def views_of_before(
    published: Published, graph: dict[str, Any], node: dict[str, Any]
) -> list[str]:
    """Return the views that rules read and that show versions of before.

    A narrowed dataset contains the queries of these views unchanged. A secure dataset
    among them is narrowed itself, and a view that only gives rows decides nothing.
    """
    found: dict[str, None] = {}
    rows_from = (node["config"].get("narrowing") or {}).get("rows_from", ())
    for unique_id in node["depends_on"].get("nodes", ()):
        parent = graph["nodes"].get(unique_id)
        if not parent or parent["name"] in rows_from:
            continue
        config = parent["config"]
        if config["materialized"] not in UNSTORED or config.get("narrowing"):
            continue
        told = published.definitions.get(relation_of(parent))
        read = versions_read(told)
        if any(published.version_of(relation_of_version(v)) != v for v in read):
            found[parent["name"]] = None
        found |= dict.fromkeys(views_of_before(published, graph, parent))
    return [*found]


def moved(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    relation: Any,
    sql: str,
    pinned: dict[str, Any],
    after_tests: bool,
) -> str | None:
    """Return the query of a view that may move: the new one, or less until its tests.

    pinned  the result of `pin_versions`
    """
    query = pinned["sql"]
    if not after_tests or not pinned["is_pinned"]:
        return query
    run = run_of(adapter)
    waits_for = nodes_to_test(run, graph, node)
    if not waits_for:
        return query
    shown, is_narrowed = None, False
    if definition_of(adapter, relation) is None:
        name = name_of_untested(relation.identifier)
        shown = f"with {name} as (\n{query}\n)\n\nselect * from {name} where false"
        meanwhile, is_narrowed = "is new and shows no row", True
    else:
        try:
            before = whole_query(
                text_of_view(adapter, str(relation)), relation.identifier
            )
            # Its tests passed before, or it was shown without any.
            if pieces_of_statement(before) == pieces_of_statement(query):
                return query
            shown = narrowed(adapter, graph, node, relation, sql, query, before)
            meanwhile, is_narrowed = NARROWED, True
        except DbtRuntimeError as failure:
            meanwhile = (
                "still shows the rights of before, revoked ones too, since it can't be"
                f" narrowed to the rights of now ({failure.msg})"
            )
    run.untested[relation_of(node)] = Untested(
        node["unique_id"], relation, query, waits_for, meanwhile, is_narrowed
    )
    return shown


def narrowed(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    relation: Any,
    sql: str,
    query: str,
    before: str,
) -> str:
    """Return the query of the rows and values that two states both show.

    Raises DbtRuntimeError if there is none.

    sql     the node's compiled query
    query   the same with the versions of now
    before  the query that the view last switched to whole
    """
    narrowing = node["config"].get("narrowing")
    if not narrowing:
        raise DbtRuntimeError("its config has no narrowing")
    # A rule that looks up a relation of the rows reads its present version.
    looked_up = read_by_conditions(node["name"], query)
    of_rows = row_relations(graph, node) - {
        relation_of_version(version) for version in looked_up & {*named_versions(query)}
    }
    if of_rows != row_relations(graph, node, with_rights=True):
        # Values may differ by rights too, and a value does not show that it is masked.
        narrowing = narrowing | {"masks": {}}
    old = old_versions(adapter, of_rows, before)
    now = pin_versions(adapter, graph, node, sql, old)["sql"]
    return intersection(adapter, relation.identifier, narrowing, before, now)


def whole_query(text: str | None, identifier: str) -> str:
    """Return the query that a view last switched to whole, from the view's text."""
    if text is None:
        raise DbtRuntimeError("its text is not known to the metastore")
    return parts_of_narrowed(text, identifier)[0]


def is_of_one_state(read: list[str] | None, before: str) -> bool:
    """Return whether a view's last whole query reads all of these versions."""
    return read is not None and set(read) <= set(named_versions(before))


def row_relations(
    graph: dict[str, Any], node: dict[str, Any], with_rights: bool = False
) -> set[str]:
    """Return the stored relations behind the rows of a secure dataset.

    A plain view counts as the relations that it reads. A relation that also decides
    rights is left out, unless `with_rights` is true: a query reads one version of it,
    and in an old version a revoked right would stay.
    """
    of_rows, of_rights = _rows_and_rights(graph, node)
    return of_rows if with_rights else of_rows - of_rights


def _rows_and_rights(
    graph: dict[str, Any], node: dict[str, Any]
) -> tuple[set[str], set[str]]:
    """Return the stored relations behind rows, and the relations that decide rights."""
    narrowing = node["config"].get("narrowing")
    kind = node["config"]["materialized"]
    if not narrowing and kind not in UNSTORED:
        return {relation_of(node)}, set()
    of_rows: set[str] = set()
    of_rights: set[str] = set()
    for unique_id in node["depends_on"].get("nodes", ()):
        if parent := graph["nodes"].get(unique_id):
            rows, rights = _rows_and_rights(graph, parent)
            of_rights |= rights
            if narrowing and parent["name"] not in narrowing["rows_from"]:
                of_rights |= rows
            else:
                of_rows |= rows
    return of_rows, of_rights


def old_versions(
    adapter: SparkAdapter, relations: set[str], before: str
) -> dict[str, OldVersion]:
    """Return the version of each relation that a query reads in exactly one version."""
    found: dict[str, list[str]] = {}
    for version in named_versions(before):
        found.setdefault(relation_of_version(version), []).append(version)
    return {
        relation: OldVersion(versions[0], _published_rows(adapter, versions[0]))
        for relation, versions in found.items()
        if relation in relations and len(versions) == 1
    }


def _published_rows(adapter: SparkAdapter, version: str) -> str:
    """Return the query of a version's published rows, without the folders' column."""
    columns = _columns(adapter, f"select * from {version}")
    if in_time := of_columns(columns):
        return in_time.published_rows(version)
    for column in columns:
        if FOLDER.fullmatch(column):
            key, _, number = column.rpartition("__mod_")
            folders = Folders(key, int(number))
            return folders.published_rows(version)
    return f"select * from {version}"


def intersection(
    adapter: SparkAdapter,
    identifier: str,
    narrowing: dict[str, Any],
    before: str,
    now: str,
) -> str:
    """Return a query of the intersection of two queries of one secure dataset."""
    columns_before, columns = _columns(adapter, before), _columns(adapter, now)
    keys = [column.lower() for column in narrowing["unique_key"]]
    for column in [*keys, USER]:
        if columns_before.get(column) != columns.get(column) or column not in columns:
            raise DbtRuntimeError(
                f"its column {column}, by which rows are matched, is another one"
            )
        if NOT_COMPARED.search(columns[column]):
            raise DbtRuntimeError(
                f"its column {column}, by which rows are matched, is a"
                f" {columns[column]}, whose equal values may differ"
            )
    has_public = [shows_rows_of_nobody(query) is not False for query in (before, now)]
    old, new = names_of_narrowed(identifier)
    masks = {
        column: f"try_cast({mask} as {columns[column]})"
        for column, mask in narrowing.get("masks", {}).items()
        if _is_compared(column, columns_before, columns) and column not in keys
    }
    masks = {column: masks[column] for column in _masked_alike(masks, before, now)}
    sides = (_with_masks(old, masks), _with_masks(new, masks))
    parts = [
        _matched(sides, masks.keys(), keys, columns_before, columns, of_nobody)
        for of_nobody in ((False, False), (False, True), (True, False), (True, True))
        # A row without a user is for everyone.
        if all(has or not of for has, of in zip(has_public, of_nobody, strict=True))
    ]
    query = (
        f"with {old} as (\n{before}\n),\n\n{new} as (\n{now}\n)\n\n"
        + "\nunion all\n".join(parts)
    )
    if len(query) > LONGEST_QUERY:
        raise DbtRuntimeError("the query of both becomes too long")
    # Spark refuses an invalid query here, before anything is switched.
    _columns(adapter, query)
    return query


def _is_compared(
    column: str, columns_before: dict[str, str], columns: dict[str, str]
) -> bool:
    """Return whether a column has one type in both queries, and a comparable one."""
    kind = columns.get(column, "map<")
    return columns_before.get(column) == kind and not NOT_COMPARED.search(kind)


def _masked_alike(masks: Collection[str], before: str, now: str) -> list[str]:
    """Return the columns whose expressions in `before` are all in `now`, too.

    A further mask of `before` may hide a value that the mask of `now` gives.
    """
    if not masks:
        return []
    made = [values_made("a narrowed view", query, masks) for query in (before, now)]
    return [column for column in masks if made[0][column] <= made[1][column]]


def _with_masks(part: str, masks: dict[str, str]) -> str:
    """Return a relation with an additional column for the result of each mask."""
    made = [f"{mask} as {_masked(column)}" for column, mask in masks.items()]
    return f"(select {', '.join(['*', *made])} from {part})" if made else part


def _masked(column: str) -> str:
    return quoted([f"{column} masked"])


def _matched(
    sides: tuple[str, str],
    masked: Collection[str],
    keys: list[str],
    columns_before: dict[str, str],
    columns: dict[str, str],
    of_nobody: tuple[bool, bool],
) -> str:
    """Return the query of the rows that both sides show, to one user or to everyone.

    of_nobody  for each side, whether its rows without a user are taken, or its rows
               with one
    """
    selected = []
    for column, kind in columns.items():
        name = quoted([column])
        if column == USER:
            # The user of the side whose row has one.
            value = f"{'now' if of_nobody[0] else 'before'}.{name}"
        elif column in keys:
            value = f"before.{name}"
        elif not _is_compared(column, columns_before, columns):
            value = f"cast(null as {kind}) as {name}"
        else:
            value = f"case when before.{name} <=> now.{name} then before.{name}"
            if column in masked:
                mask = _masked(column)
                # A mask that changes its own result may give the hidden value.
                value += (
                    f" when now.{name} <=> before.{mask} and now.{name} <=> now.{mask}"
                    f" then now.{name}"
                    f" when before.{name} <=> now.{mask}"
                    f" and before.{name} <=> before.{mask} then before.{name}"
                )
            value += f" end as {name}"
        selected.append(f"    {value}")
    names = [quoted([key]) for key in keys]
    matches = [f"before.{name} <=> now.{name}" for name in names]
    if not any(of_nobody):
        matches.append(f"before.{USER} = now.{USER}")
    wanted = [
        f"{side}.{USER} is {'null' if is_of_nobody else 'not null'}"
        for side, is_of_nobody in zip(("before", "now"), of_nobody, strict=True)
    ]
    joined = " and ".join(matches) or "true"
    return (
        "select\n"
        + ",\n".join(selected)
        + f"\nfrom {sides[0]} as before\ninner join {sides[1]} as now"
        + f"\n    on {joined}\n"
        + f"where {' and '.join(wanted)}"
    )


def _columns(adapter: SparkAdapter, query: str) -> dict[str, str]:
    """Return the columns of a query, in lower case, with their types."""
    rows = rows_of(adapter, f"describe query\n{query}")
    return {str(row[0]).lower(): str(row[1]).lower() for row in rows}
