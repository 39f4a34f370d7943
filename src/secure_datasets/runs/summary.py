"""What is printed after a run: its relations, and the rows that data tests found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dbt.adapters.base import BaseAdapter

from secure_datasets.config.plan import PREFIX
from secure_datasets.config.readings import LOADED
from secure_datasets.config.references import STAGED
from secure_datasets.config.steering import table_lines
from secure_datasets.questions.macro_methods import access_questions
from secure_datasets.render.staging.order import was_delivered
from secure_datasets.sql.writing import indented, union

Macros = Mapping[str, Callable[..., Any]]
# The models of the summary, beside those that are called `vw_`.
FOR_ADMINISTRATORS = ("rejected_rows", "dangling_references")
# `why` is asked about so many rows of a failure.
MOST_EXPLAINED = 5


def run_summary(
    adapter: BaseAdapter,
    macros: Macros,
    results: Iterable[Any],
    run: Mapping[str, Any],
    run_query: Callable[[str], Any],
) -> list[str]:
    """Return the lines about the relations that a run has published.

    results  the results of on-run-end
    run      `as_of`, the moment of a past state; the project's `schema`; and `threads`,
             the number of models at once
    """
    results = sorted(results, key=lambda result: result.node.name.lower())
    lines = []
    if run["as_of"] is not None:
        lines.append(
            f"As of {adapter.as_of_text(run['as_of'])} UTC, by the definitions of"
            f" today, in the schema {run['schema']}."
        )
        if queries := _deliveries(macros, results, run["as_of"]):
            lines += _past_state(run_query(_in_order(queries)).rows)
    published = [
        result
        for result in results
        if result.status in ("success", "warn")
        and result.node.resource_type == "model"
        and _is_shown(result.node.name)
    ]
    if not published:
        return lines
    queries = [_counts(place, each.node) for place, each in enumerate(published)]
    rows = []
    for place, row_count, users in run_query(_in_order(queries)).rows:
        result = published[int(place)]
        rows.append(
            [
                result.node.name,
                str(row_count),
                "-" if users is None else str(users),
                f"{result.execution_time:.1f}",
            ]
        )
    lines += _table(["relation", "rows", "users", "seconds"], rows)
    if run["threads"] > 1:
        lines.append(
            f"{run['threads']} models at once share one Spark: the seconds of each"
            " include those in which it waited for another."
        )
    return lines


def _is_shown(name: str) -> bool:
    return name.startswith("vw_") or name in FOR_ADMINISTRATORS


def _counts(place: int, model: Any) -> str:
    """Return the query of a relation's rows and distinct users."""
    has_users = "user_id" in model.columns or model.name.startswith(PREFIX)
    users = "count(distinct user_id)" if has_users else "cast(null as bigint)"
    return f"""select
    {place} as place,
    count(*) as row_count,
    {users} as users
from {model.relation_name}"""


def _deliveries(macros: Macros, results: Iterable[Any], as_of: Any) -> list[str]:
    """Return the queries of how many deliveries each staged table had at a moment."""
    built = {result.node.name for result in results if result.status == "success"}
    staged = [n for n in macros["repository_tables"]() if f"{STAGED}{n}" in built]
    queries = []
    for place, name in enumerate(staged):
        was_there = was_delivered(macros["feed_of"](name) or {}, LOADED, as_of)
        queries.append(
            f"""select
    {place} as place,
    '{name}' as raw_table,
    count_if({was_there}) as counted,
    count_if(not {was_there}) as left_out,
    count_if({LOADED} is null) as undated
from (
    {indented(macros["delivered_values"](name, [LOADED]))}
) as load_times"""
        )
    return queries


def _past_state(rows: Iterable[Any]) -> list[str]:
    """Return the table of the deliveries of a past state, with their sums."""
    counts = [tuple(row)[1:] for row in rows]
    totals = [sum(column) for column in list(zip(*counts, strict=True))[1:]]
    headers = ["raw table", "deliveries counted", "left out"]
    told = [
        [str(value) for value in row] for row in (*counts, ("all of them", *totals))
    ]
    return _table([*headers, "counted without a load time"], told)


def _in_order(queries: Iterable[str]) -> str:
    return f"{union(queries)}\norder by place"


def _table(
    headers: list[str], rows: list[list[str]], align: str = "right"
) -> list[str]:
    return ["", *table_lines(headers, rows, align), ""]


def failures(
    adapter: BaseAdapter,
    macros: Macros,
    ref: Callable[..., Any],
    nodes: Mapping[str, Any],
    results: Iterable[Any],
    run_query: Callable[[str], Any],
) -> Iterator[str]:
    """Yield the lines about the rows that data tests found.

    Only tests with `meta: {print_failures: true}` count. With `explains` in it, `why`
    follows for the first rows with a user.
    """
    for result in results:
        node = result.node
        if result.status not in ("fail", "warn") or node.resource_type != "test":
            continue
        meta = node.config.get("meta", {})
        if not meta.get("print_failures"):
            continue
        found = run_query(node.compiled_code)
        rows = [[str(value) for value in row.values()] for row in found.rows]
        yield f"{node.name}:"
        yield from _table(list(found.column_names), rows, align="left")
        if meta.get("explains"):
            asked = [row for row in found.rows if row["user_id"] is not None]
            for row in asked[:MOST_EXPLAINED]:
                is_row = row["resource_type"] == "dataset"
                kind, by = ("dataset", "row") if is_row else ("tier", "object")
                given = {
                    **dict.fromkeys(("dataset", "row", "tier", "object")),
                    **{"user": row["user_id"], "format": "text", "nodes": nodes},
                    **{kind: row["resource"], by: row["object"]},
                }
                yield from access_questions(adapter).why(given, macros, ref)
