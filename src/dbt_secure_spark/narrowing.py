"""A secure dataset that can't move to the new state whole: the old rows, less rights.

A run in part may publish rights of one state beside rows of another. A secure dataset
does not switch to such a mixture. It switches to the intersection of two queries:

before  the query that it was last switched to whole: one state of the raw tables
now     the query as its model is rendered now, over the same versions of its rows and
        the newest versions of all that decides rights

A row stays for a user to whom both give it. A value stays where both give it. Where
they differ it is masked if one value is what the column's only mask makes of the other,
and of itself: a mask that undoes itself would show what it hides, and so would one that
undoes another mask of `before`. Otherwise it is null.
So a revoked right and a stricter policy act at once, and nothing shows that `before`
does not show.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_secure_spark.folders import Folders
from dbt_secure_spark.in_time import of_columns
from dbt_secure_spark.publishing import (
    LONGEST_QUERY,
    OldVersion,
    definition_of,
    pin_versions,
    relation_of,
    relation_of_version,
    rows_of,
    run_of,
    stay,
    text_of_view,
)
from dbt_secure_spark.queries import (
    names_of_narrowed,
    parts_of_narrowed,
    quoted,
    read_by_conditions,
    shows_rows_of_nobody,
    values_made,
)
from dbt_secure_spark.versions import named_versions

USER = "user_id"
# Spark compares no values of these types; or takes texts for equal that differ.
NOT_COMPARED = re.compile(r"\b(map<|variant\b|collate\b)")
FOLDER = re.compile(r"\w+__mod_\d+")


def query_of_view(
    adapter: SparkAdapter,
    graph: dict[str, Any],
    node: dict[str, Any],
    relation: Any,
    sql: str,
) -> str | None:
    """Return the query that a view is switched to; None if it stays as it was.

    Raises CompilationError where a secure dataset can neither move nor be narrowed.
    """
    pinned = pin_versions(adapter, graph, node, sql)
    why_not = pinned["why_not"]
    if not why_not:
        return pinned["sql"]
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
            return pinned["sql"]
        # A rule that looks into the rows' own relations looks into those of now.
        looked_up = read_by_conditions(node["name"], pinned["sql"])
        of_rows = row_relations(graph, node) - {
            relation_of_version(version)
            for version in looked_up & {*named_versions(pinned["sql"])}
        }
        if of_rows != row_relations(graph, node, with_rights=True):
            # Values may differ by rights too, and no value tells that it is masked.
            narrowing = narrowing | {"masks": {}}
        old = old_versions(adapter, of_rows, before)
        now = pin_versions(adapter, graph, node, sql, old)["sql"]
        query = intersection(adapter, relation.identifier, narrowing, before, now)
    except DbtRuntimeError as failure:
        raise CompilationError(
            f"'{node['name']}' still shows the rights of before, revoked ones too:"
            f" {why_not}; and it can't be narrowed to the rights of now:"
            f" {failure.msg}. Run '+{node['name']}'."
        ) from failure
    run_of(adapter).stayed[node["unique_id"]] = (
        f"'{node['name']}' shows the rows of before, to those who may see them both"
        f" before and now: {why_not}. New rows and new rights wait. Run"
        f" '+{node['name']}'."
    )
    return query


def whole_query(text: str | None, identifier: str) -> str:
    """Return the query that a view was last switched to whole, by its text."""
    if text is None:
        raise DbtRuntimeError("its text is not known to the metastore")
    return parts_of_narrowed(text, identifier)[0]


def is_of_one_state(read: list[str] | None, before: str) -> bool:
    """Say whether versions are among those that the view was switched to whole."""
    return read is not None and set(read) <= set(named_versions(before))


def row_relations(
    graph: dict[str, Any], node: dict[str, Any], with_rights: bool = False
) -> set[str]:
    """Return the stored relations that the rows of a secure dataset come from.

    A plain view is what it reads. What decides rights too is left out, unless asked
    for: a query reads one version of it, and a right that was revoked must not stay.
    """
    of_rows, of_rights = _rows_and_rights(graph, node)
    return of_rows if with_rights else of_rows - of_rights


def _rows_and_rights(
    graph: dict[str, Any], node: dict[str, Any]
) -> tuple[set[str], set[str]]:
    """Return the stored relations that rows come from, and those that decide rights."""
    narrowing = node["config"].get("narrowing")
    kind = node["config"]["materialized"]
    if not narrowing and kind not in ("view", "ephemeral"):
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
    """Return the version of each relation that a query reads, if it reads one."""
    found: dict[str, list[str]] = {}
    for version in named_versions(before):
        found.setdefault(relation_of_version(version), []).append(version)
    return {
        relation: OldVersion(versions[0], _published_rows(adapter, versions[0]))
        for relation, versions in found.items()
        if relation in relations and len(versions) == 1
    }


def _published_rows(adapter: SparkAdapter, version: str) -> str:
    """Return the query by which a version was published: without its folder."""
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
    """Return the query of what two queries of one secure dataset both show."""
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
        # A row that bears no user is for everyone.
        if all(has or not of for has, of in zip(has_public, of_nobody, strict=True))
    ]
    query = (
        f"with {old} as (\n{before}\n),\n\n{new} as (\n{now}\n)\n\n"
        + "\nunion all\n".join(parts)
    )
    if len(query) > LONGEST_QUERY:
        raise DbtRuntimeError("the query of both becomes too long")
    # Whatever Spark finds wrong with it is said before anything is switched.
    _columns(adapter, query)
    return query


def _is_compared(
    column: str, columns_before: dict[str, str], columns: dict[str, str]
) -> bool:
    """Say whether values of a column are compared: of one type, and one that can be."""
    kind = columns.get(column, "map<")
    return columns_before.get(column) == kind and not NOT_COMPARED.search(kind)


def _masked_alike(masks: Collection[str], before: str, now: str) -> list[str]:
    """Return the columns for which `before` makes no value but those that `now` makes.

    Another mask of `before` hides the value that the mask of now may make of it.
    """
    if not masks:
        return []
    made = [values_made("a narrowed view", query, masks) for query in (before, now)]
    return [column for column in masks if made[0][column] <= made[1][column]]


def _with_masks(part: str, masks: dict[str, str]) -> str:
    """Return a relation with what the mask of each column makes of it beside it."""
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
    """Return the query of the rows that both give, to one user or to everyone.

    of_nobody  whether the rows of either side are those that bear no user
    """
    selected = []
    for column, kind in columns.items():
        name = quoted([column])
        if column == USER:
            # That of the side on which the row is not for everyone.
            value = f"{'now' if of_nobody[0] else 'before'}.{name}"
        elif column in keys:
            value = f"before.{name}"
        elif not _is_compared(column, columns_before, columns):
            value = f"cast(null as {kind}) as {name}"
        else:
            value = f"case when before.{name} <=> now.{name} then before.{name}"
            if column in masked:
                mask = _masked(column)
                # What the mask would change once more may be the value that it hides.
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
