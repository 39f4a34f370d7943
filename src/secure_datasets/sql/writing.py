"""Pieces of which queries are written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from secure_datasets.sql.expressions import sql_text

# A place of a template: at the beginning of its line, or within it.
PLACE = re.compile(r"^( +)\$(\w+)|\$(\w+)", re.M)


def filled(template: str, value_of: Callable[[str], Any]) -> str:
    """Return a text with a value at each of its places, such as `$name`.

    If a place begins its line, all lines of the value are indented as it is.
    """

    def value(place: re.Match[str]) -> str:
        indent, first, within = place.groups(default="")
        text = indented(str(value_of(first or within)), len(indent))
        return text and indent + text

    return PLACE.sub(value, template)


def template(
    package: str, name: str, /, ref: Callable[[str], Any], **values: Any
) -> str:
    """Return the text of a file of SQL of a package, with values at its places.

    A place without a value names a relation. A value may be a function: so dbt meets
    the relations in the order of the text.
    """
    text = files(package).joinpath(f"{name}.sql").read_text(encoding="utf-8")

    def value_of(place: str) -> Any:
        if place not in values:
            return ref(place)
        value = values[place]
        return value() if callable(value) else value

    return filled(text.rstrip(), value_of)


def indented(text: str, width: int = 4) -> str:
    """Return a text with all lines but the first indented, as Jinja's `indent` does."""
    first, *lines = text.splitlines() or [""]
    return "\n".join([first, *(" " * width + line if line else "" for line in lines)])


def listed(columns: Iterable[str], relation: str = "") -> str:
    """Return columns of a relation as a list."""
    place = f"{relation}." if relation else ""
    return ",\n".join(f"    {place}{column}" for column in columns)


def same(one: str, other: str, columns: Iterable[str], sign: str = "=") -> str:
    """Return whether two relations agree in columns; with `<=>`, nulls do, too."""
    return (
        " and ".join(f"{one}.{column} {sign} {other}.{column}" for column in columns)
        or "true"
    )


def union(queries: Iterable[str], of: str = "union all") -> str:
    """Return several queries as one."""
    return f"\n{of}\n".join(queries)


def union_of(queries: Sequence[str]) -> str:
    """Return several queries as one, or for none a query without rows."""
    return union(queries) or "select 1 as nothing_to_check where false"


def texts_where(rows: Iterable[Mapping[str, str]], condition: str) -> str:
    """Return rows of texts as a query; one column is SQL by which its row is there."""
    queries = []
    for row in rows:
        columns = ",\n    ".join(
            f"{sql_text(text)} as {column}"
            for column, text in row.items()
            if column != condition
        )
        queries.append(f"select\n    {columns}\nwhere {row[condition]}")
    return union_of(queries)


def with_steps(steps: Mapping[str, str], last: str) -> str:
    """Return a query with its steps as CTEs, by their names."""
    listed_steps = ",\n\n".join(
        f"{name} as (\n\n    {indented(step)}\n\n)" for name, step in steps.items()
    )
    return f"with {listed_steps}\n\n{last}"


def named_keys(columns: Iterable[str], relation: str) -> str:
    """Return keys with their names as one text: `project_id=1`, for example."""
    parts = (f", concat('{column}=', {relation}.{column})" for column in columns)
    return f"concat_ws(', '{''.join(parts)})"


def row_key(dataset: Mapping[str, Any], relation: str) -> str:
    """Return a row's key as one text, for a person who looks for it."""
    keys = (f", cast({relation}.{key} as string)" for key in dataset["unique_key"])
    return f"concat_ws('/'{''.join(keys)})"


def row_filter(relation: str, row: Mapping[str, Any] | None) -> str:
    """Return the condition that finds a row by its key, each value compared as text."""
    terms = []
    for column, value in (row or {}).items():
        place = f"{relation}.{column}"
        terms.append(f"{place} is {'null' if value is None else 'not null'}")
        if value is not None:
            terms.append(f"cast({place} as string) = {sql_text(str(value))}")
    return f"\nwhere {' and '.join(terms)}" if terms else ""


def values_row(row: Iterable[str | None]) -> str:
    """Return one row of `values_query`: its texts and nulls."""
    values = ("cast(null as string)" if v is None else sql_text(v) for v in row)
    return f"({', '.join(values)})"


def values_query(rows: Sequence[Iterable[str | None]], columns: int) -> str:
    """Return rows of texts and nulls as a query, for a CTE that names the columns.

    columns  how many there are, for when there is no row
    """
    if not rows:
        names = (f" cast(null as string) as column_{n + 1}" for n in range(columns))
        return f"select{','.join(names)} where false"
    return "values\n    " + ",\n    ".join(map(values_row, rows))
