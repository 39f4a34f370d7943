"""The staged tables of small worlds in DuckDB: the project's own SQL, without Spark.

What differs between the two engines is replaced where the rules of staging leave no
doubt of what Spark does.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from functools import lru_cache
from typing import Any

import duckdb
import sqlglot
from oracle.contract import ROLE_PERMISSIONS, TABLES, Staging, World
from rendering import ROOT
from sqlglot import exp

WITH_NULLS = re.compile(r",\s*map\('ignoreNullFields', 'false'\)")
UTC_TEXT = "strftime(a::timestamptz at time zone 'UTC', '%Y-%m-%d %H:%M:%S.%f')"
FUNCTIONS = (
    f"utc_text(a) as {UTC_TEXT}",
    "btrim(a, b) as trim(a, b)",
    "timestamp_seconds(a) as make_timestamptz(a * 1000000)",
    "timestamp_millis(a) as make_timestamptz(a * 1000)",
    "timestamp_micros(a) as make_timestamptz(a)",
    # As Spark calls them.
    "spark_type(a) as case typeof(a) when 'TIMESTAMP WITH TIME ZONE' then 'timestamp'"
    " when 'TIMESTAMP' then 'timestamp_ntz' else lower(typeof(a)) end",
)


def white_space() -> str:
    """Return the literal of the characters that are trimmed, as compiled."""
    text = (ROOT / "macros/staging/_reading.sql").read_text(encoding="utf-8")
    (line,) = (line for line in text.splitlines() if line.startswith(r"'\u0009"))
    return line


WHITE_SPACE = white_space()


@lru_cache(maxsize=2000)
def in_duckdb(sql: str) -> str:
    """Return compiled SQL of a staged table as DuckDB's."""
    for text, stands_for in ((WHITE_SPACE, "getvariable('white_space')"),):
        sql = sql.replace(text, stands_for)
    sql = WITH_NULLS.sub("", sql)
    tree = sqlglot.parse_one(sql, read="spark")
    return tree.transform(as_here, copy=False).sql("duckdb", copy=False)


def as_here(node: exp.Expression) -> exp.Expression:
    """Call a function of Spark's as it is called here."""
    if isinstance(node, exp.Func) and node.sql_name().lower() == "typeof":
        return exp.Anonymous(this="spark_type", expressions=[node.this])
    if isinstance(node, exp.Extract) and node.this.name.lower() == "second":
        # Its fraction too.
        moment = node.expression.sql("duckdb")
        return sqlglot.parse_one(
            f"((epoch_us({moment}) % 60000000 + 60000000) % 60000000) / 1000000.0"
        )
    if isinstance(node, exp.Anonymous) and node.name.lower() == "to_csv":
        (value,) = node.expressions[0].expressions
        value = value.expression if isinstance(value, exp.PropertyEQ) else value
        return exp.Anonymous(this="utc_text", expressions=[value])
    return node


def connected() -> duckdb.DuckDBPyConnection:
    """Return a connection that has the functions of Spark's that staging calls."""
    connection = duckdb.connect()
    connection.execute("set timezone = 'UTC'")
    characters = WHITE_SPACE.strip("'").encode("ascii").decode("unicode_escape")
    connection.execute("set variable white_space = ?", [characters])
    for function in FUNCTIONS:
        connection.execute(f"create macro {function}")
    return connection


class Staged:
    """The staged tables of a world, by the compiled SQL of their models."""

    def __init__(self, compiled: dict[str, str], world: World) -> None:
        self.compiled = compiled
        self.connection = connected()
        roles = [
            (object_type, role, name)
            for object_type, by_role in ROLE_PERMISSIONS.items()
            for role, names in by_role.items()
            for name in names or (None,)
        ]
        columns = ("object_type", "role_name", "permission_name")
        self.table("secure_datasets.role_permissions", columns, roles)
        for name, of_table in TABLES.items():
            rows = [[row[column] or None for column in of_table] for row in world[name]]
            self.table(f"repository_sample.{name}", of_table, rows)

    def table(self, name: str, columns: Any, rows: list[Any]) -> None:
        """Make a table of texts."""
        body = ", ".join(f"{column} varchar" for column in columns)
        marks = ", ".join("?" for _ in columns)
        self.connection.execute(f"create schema if not exists {name.split('.')[0]}")
        self.connection.execute(f"create table {name} ({body})")
        # One statement for many rows: each costs more than its rows.
        for start in range(0, len(rows), 200):
            some = rows[start : start + 200]
            values = [value for row in some for value in row]
            given = ", ".join(f"({marks})" for _ in some)
            self.connection.execute(f"insert into {name} values {given}", values)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a staged table."""
        found = self.connection.execute(in_duckdb(self.compiled[f"stg_{table}"]))
        names = [column[0] for column in found.description]
        return [
            dict(zip(names, map(without_zone, row), strict=True))
            for row in found.fetchall()
        ]


def without_zone(value: Any) -> Any:
    """Return a moment in UTC without saying so, and any other value as it is."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def columns_of(table: str) -> list[str]:
    """Return the columns that a staged row has of a raw one, by the same names."""
    return [c for c in TABLES[table] if c not in ("id", "is_active", "sf_date_created")]


def used(table: str, rows: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return what staging took, by id, as the oracle tells it."""
    key = f"{table[:-1]}_id"
    columns = [
        c for c in TABLES[table] if c not in ("id", "is_active", "sf_date_created")
    ]
    taken = [row for row in rows if row["rejection_reason"] is None]
    found = {row[key]: {c: row[c] for c in [*columns, "is_live"]} for row in taken}
    assert len(found) == len(taken), f"stg_{table} has an id twice"
    return found


def wanted(table: str, staging: Staging) -> dict[int, dict[str, Any]]:
    """Return what the oracle took, in the same form."""
    columns = [
        c for c in TABLES[table] if c not in ("id", "is_active", "sf_date_created")
    ]
    return {
        key: {c: row[c] for c in columns} | {"is_live": row["is_active"] is True}
        for key, row in staging.winners[table].items()
    }


def rejected(rows: list[dict[str, Any]]) -> Counter:
    """Count what staging rejected; which of tied deliveries stands for all is open."""
    return Counter(
        (
            None if row["rejection_reason"] == "conflict" else row["raw_id"],
            row["rejection_reason"],
            row["sf_date_created"],
        )
        for row in rows
        if row["rejection_reason"] is not None
    )


def wanted_rejected(table: str, staging: Staging) -> Counter:
    """Count what the oracle rejected, in the same form."""
    return Counter(
        (None if reason == "conflict" else raw_id, reason, loaded)
        for name, raw_id, reason, loaded in staging.rejected
        if name == table
    )
