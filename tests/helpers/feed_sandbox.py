"""A raw table of a declared feed, staged in DuckDB by the project's own SQL.

Without dbt and without Spark: the macros are rendered with the feed, and the raw table
has the columns and types that its loader gives it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oracle.contract import ROLE_PERMISSIONS
from own_config import PRODUCTS, document_of
from rendering import VARS, Macros
from staging_sandbox import connected, in_duckdb, without_zone

from secure_datasets.config.readings import readings_of

ROLES = "secure_datasets.role_permissions"
RAW = "replica"
# What DuckDB calls Spark's types.
SPARK = {"varchar": "string", "timestamptz": "timestamp", "timestamp": "timestamp_ntz"}
SPARK |= {"integer": "int", "blob": "binary"}
SOME_MOMENT = "'2000-01-01 00:00:00Z'"
Rows = Iterable[Mapping[str, Any]]


class FeedSandbox:
    """Raw tables, and what is staged of them under feeds: `vars: feeds:`."""

    def __init__(self, feeds: Any = None, **variables: Any) -> None:
        self.connection = connected()
        self.types: dict[str, dict[str, str]] = {}
        # The snapshots that a raw table keeps, as the adapter tells them.
        self.snapshots: dict[str, list[dict[str, Any]]] = {}
        self.connection.execute("create schema secure_datasets")
        self.connection.execute(f"create schema {RAW}")
        self.connection.execute(
            f"create table {ROLES} (object_type varchar, role_name varchar)"
        )
        roles = [(kind, r) for kind, named in ROLE_PERMISSIONS.items() for r in named]
        lists = [[*column] for column in zip(*roles, strict=True)]
        self.connection.execute(
            f"insert into {ROLES} select unnest(?::varchar[]), unnest(?::varchar[])",
            lists,
        )
        self.declare(feeds, **variables)
        self.macros = self._macros()

    def declare(self, feeds: Any, **variables: Any) -> None:
        """Declare other feeds over the same raw tables."""
        self.given = VARS | {"feeds": feeds or {}, "raw_schema": RAW} | variables

    def _macros(self) -> Macros:
        """Return the macros, which see what is declared by then."""
        macros = Macros(document_of(PRODUCTS), ref=lambda name: ROLES)
        macros.stand_in(
            var=lambda name, default=None: self.given.get(name, default),
            execute=True,
            raw_readings=self.readings,
            reads_sample=lambda: False,
            source=lambda schema, name: f"{RAW}.{name}",
        )
        macros.adapter.raw_snapshots = lambda name, *_: self.snapshots.get(name)
        return macros

    def deliver(self, table: str, types: Mapping[str, str], rows: Rows) -> None:
        """Make a raw table of some rows, with the columns and types of its loader."""
        self.types[table] = {c: SPARK.get(kind, kind) for c, kind in types.items()}
        body = ", ".join(f'"{column}" {kind}' for column, kind in types.items())
        self.connection.execute(f"create or replace table {RAW}.{table} ({body})")
        marks = ", ".join("?" for _ in types)
        values = [[row.get(column) for column in types] for row in rows]
        # One statement for many rows: each costs more than its rows.
        for start in range(0, len(values), 200):
            some = values[start : start + 200]
            given = ", ".join(f"({marks})" for _ in some)
            self.connection.execute(
                f"insert into {RAW}.{table} values {given}",
                [v for row in some for v in row],
            )

    def keep(self, table: str, since: int) -> None:
        """Keep what a raw table holds as a snapshot, since a moment in microseconds."""
        kept = f"{RAW}.{table}_{since}"
        self.connection.execute(f"create table {kept} as from {RAW}.{table}")
        columns = [f"`{column}`" for column in self.types[table]]
        told = {"rows": kept, "since": since, "columns": columns}
        self.snapshots.setdefault(table, []).append(told)

    def history(self, table: str) -> list[dict[str, Any]]:
        """Return the staged rows of a table at all its moments."""
        given = self.macros
        feed = given.feed_over_time(table)
        rows = given.raw_relation(table, feed=feed)
        return self.query(given.stage_raw_table(table, rows, feed))

    def readings(self, table: str) -> dict[str, str]:
        """Return how the columns of a raw table are read by their types."""
        given = self.macros
        return readings_of(
            self.types.get(table, {}),
            given.feed_of(table),
            given.repository_tables()[table],
        )

    def sql(self, table: str) -> str:
        """Return the staging query of a table, in Spark's SQL."""
        return self.macros.stage_raw_table(table)

    def staged(self, table: str) -> list[dict[str, Any]]:
        """Return the staged rows of a table."""
        return self.query(self.sql(table))

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query that is in Spark's SQL."""
        # Of all moments the text is read once.
        moment = f"'{self.given.get('as_of')}Z'"
        found = self.connection.execute(
            in_duckdb(sql.replace(moment, SOME_MOMENT)).replace(SOME_MOMENT, moment)
        )
        names = [column[0] for column in found.description]
        return [
            dict(zip(names, map(without_zone, row), strict=True))
            for row in found.fetchall()
        ]

    def live(self, table: str) -> dict[int, dict[str, Any]]:
        """Return the live rows of a table by their ids."""
        key = f"{table[:-1]}_id"
        return {row[key]: row for row in self.staged(table) if row["is_live"]}
