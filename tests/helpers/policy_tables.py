"""The tables of a random case of policies, made in an engine that is not Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oracle.policies import Case
from random_policies import COLUMNS, tables

TEXT = {"duckdb": "varchar", "postgres": "text"}
LAYER = "vw_secure_dataset_"


def literal(value: Any) -> str:
    """Write a value as standard SQL."""
    if value is None or isinstance(value, bool | int):
        return "null" if value is None else str(value).lower()
    return "'" + value.replace("'", "''") + "'"


def tables_of(case: Case) -> dict[str, tuple[dict[str, str], list[tuple]]]:
    """Return the tables that predicates read: columns with types, and rows."""
    made = {
        name: (dict(part.split(" ") for part in schema.split(", ")), rows)
        for name, (schema, rows) in tables(case).items()
        if "array" not in schema
    }
    expected = case.expected()
    for dataset in case.datasets:
        if dataset.is_query:
            continue
        types = {name: COLUMNS[name] for name in dataset.columns}
        made[LAYER + dataset.name] = (
            types | {"user_id": "bigint"},
            [tuple(row.values()) for row in expected[dataset.name]],
        )
    return made


def script(case: Case, schema: str, dialect: str) -> Iterator[str]:
    """Write the statements that make the tables of a case."""
    yield f"create schema {schema}"
    yield f"set search_path to '{schema}'"
    for name, (types, rows) in tables_of(case).items():
        columns = ", ".join(
            f"{column} {kind.replace('string', TEXT[dialect])}"
            for column, kind in types.items()
        )
        yield f"create table {name} ({columns})"
        if rows:
            lines = (f"({', '.join(map(literal, row))})" for row in rows)
            yield f"insert into {name} values {', '.join(lines)}"
