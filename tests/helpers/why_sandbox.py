"""The question why over small worlds in DuckDB: the project's macros, without Spark.

The published relations come from the independent evaluators, so that the tests compare
answers with the law and not with the project.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import sqlglot
from dbt.clients.yaml_helper import safe_load
from oracle.contract import (
    COLUMNS,
    ROLE_PERMISSIONS,
    TABLES,
    UNREADABLE,
    Groups,
    RawRow,
    Rights,
    Staging,
    World,
    evaluate,
    newest,
    read_delivery,
    read_value,
    stage,
)
from oracle.paths import PATH_COLUMNS, access_paths
from own_config import PRODUCTS, document_of
from rendering import ROOT, Macros
from staging_sandbox import FUNCTIONS, in_duckdb, own_database

from secure_datasets.engines.duckdb import as_json
from secure_datasets.questions.facts.built import Built
from secure_datasets.questions.facts.grants import Sides, grants_state
from secure_datasets.questions.missing import State
from secure_datasets.render.staging.reading import SPACE

Row = dict[str, Any]

TYPES = {
    bool: "BOOLEAN",
    int: "BIGINT",
    datetime: "TIMESTAMPTZ",
    Decimal: "DECIMAL(18,4)",
}


def repository_tables() -> dict[str, Row]:
    """Return the raw tables as macros see them."""
    return Macros(document_of(PRODUCTS)).repository_tables()


@cache
def documented_columns(*more: Path) -> dict[str, dict[str, Row]]:
    """Return the documented columns of the base datasets."""
    paths = [ROOT / "models/datasets/_datasets__models.yml", *more]
    return {
        model["name"]: {
            column["name"]: column["config"]["meta"]
            for column in model["columns"]
            if "meta" in column.get("config", {})
        }
        for path in paths
        for model in safe_load(path.read_text(encoding="utf-8"))["models"]
    }


@lru_cache(maxsize=2000)
def translated(query: str) -> str:
    """Return a query in Spark's SQL as DuckDB's, kept for many worlds."""
    return sqlglot.transpile(query, read="spark", write="duckdb")[0]


class Database:
    """Tables in DuckDB, asked in Spark's SQL."""

    def __init__(self) -> None:
        self.connection = own_database()
        self.queries: list[str] = []

    def table(
        self,
        name: str,
        columns: Iterable[str],
        rows: list[tuple],
        known: dict[str, str] | None = None,
    ) -> None:
        """Make a table; a column's type is the one known or that of its values."""
        columns = list(columns)
        types = [
            (known or {}).get(column) or self._type(column, [row[i] for row in rows])
            for i, column in enumerate(columns)
        ]
        body = ", ".join(f'"{c}" {t}' for c, t in zip(columns, types, strict=True))
        self.connection.execute(f"create or replace table {name} ({body})")
        if rows:
            # A list for each column: values one by one cost far more than their rows.
            lists = ", ".join(f"unnest(?::{each}[])" for each in types)
            values = [list(column) for column in zip(*rows, strict=True)]
            self.connection.execute(f"insert into {name} select {lists}", values)

    def _type(self, column: str, values: list[Any]) -> str:
        kinds = {type(value) for value in values if value is not None}
        if not kinds:
            return "BIGINT" if column.endswith("_id") else "VARCHAR"
        kind = kinds.pop()
        if kind is list:
            return "BIGINT[]" if column.endswith("_ids") else "VARCHAR[]"
        return TYPES.get(kind, "VARCHAR")

    def make(self, name: str, query: str) -> None:
        """Make a table of the rows of a query in Spark's SQL."""
        self.connection.execute(f"create or replace table {name} as {self._sql(query)}")

    def _sql(self, query: str) -> str:
        """Return a query in DuckDB's SQL."""
        if SPACE not in query:
            return translated(query)
        # It reads the deliveries, as staging does.
        characters = SPACE.strip("'").encode("ascii").decode("unicode_escape")
        self.connection.execute("set variable white_space = ?", [characters])
        for function in FUNCTIONS:
            self.connection.execute(f"create or replace macro {function}")
        return in_duckdb(query)

    def rows(self, query: str) -> list[Row]:
        """Return the rows of a query as mappings, in the types of JSON."""
        self.queries.append(query)
        found = self.connection.execute(self._sql(query))
        names = [column[0] for column in found.description]
        return as_json(dict(zip(names, row, strict=True)) for row in found.fetchall())


def judged_deliveries(world: World) -> dict[str, dict[int, RawRow]]:
    """Return by table and id the delivery that staging judges, one of the newest."""
    found: dict[str, dict[int, RawRow]] = {}
    for table in TABLES:
        by_id: dict[Any, list] = {}
        for raw in world.get(table, ()):
            delivery = read_delivery(table, raw)
            by_id.setdefault(delivery.read["id"], []).append(delivery)
        found[table] = {
            key: newest(deliveries)[0].raw
            for key, deliveries in by_id.items()
            if key is not None and key is not UNREADABLE
        }
    return found


# DuckDB's names of the contract's types.
KINDS = {"bigint": "BIGINT", "s": "VARCHAR", "ts": "TIMESTAMPTZ", "boolean": "BOOLEAN"}
OF_STAGING = {
    **{"is_live": "BOOLEAN", "is_deleted": "BOOLEAN", "raw_id": "VARCHAR"},
    **{"rejection_reason": "VARCHAR", "raw_row": "VARCHAR"},
    "deleted_on": "TIMESTAMPTZ",
}


def load_world(database: Database, world: World) -> Staging:
    """Make the published relations of a world, and the staged tables."""
    expected, staging = evaluate(world), stage(world)
    for name, rows in expected.relations.items():
        database.table(name, COLUMNS[name], rows)
    rejected = {}
    for table, raw_id, reason, _ in staging.rejected:
        rejected.setdefault(table, []).append((raw_id, reason))
    taken = judged_deliveries(world)
    for table, columns in TABLES.items():
        key = f"{table[:-1]}_id"
        names = [key, *(name for name in columns if name != "id")]
        rows = [
            (
                *(row["id" if n == key else n] for n in names),
                row["is_active"] is True,
                *(None, None, None, False, None),
            )
            for row in staging.winners[table].values()
        ]
        for raw_id, reason in rejected.get(table, ()):
            read = read_value("bigint", raw_id)
            read = None if read is UNREADABLE else read
            raw_row = json.dumps(taken[table].get(read, {"id": raw_id}))
            nothing = (None for _ in names[1:])
            rows.append((read, *nothing, False, reason, raw_id, raw_row, False, None))
        more = ("is_live", "rejection_reason", "raw_id", "raw_row")
        more += ("is_deleted", "deleted_on")
        known = {c: KINDS[kind] for c, kind in columns.items() if kind in KINDS}
        database.table(f"stg_{table}", [*names, *more], rows, known | OF_STAGING)
    database.table("explained_access_paths", PATH_COLUMNS, access_paths(staging))
    held = {row[:5] for row in access_paths(staging)}
    database.table("int_access_paths", PATH_COLUMNS[:5], sorted(held))
    rights, groups = Rights(staging), Groups(staging)
    ancestors = [
        (group, above, depth)
        for group in groups.live
        for depth, above in enumerate(groups.chain(group))
    ]
    columns = ("user_group_id", "ancestor_user_group_id", "depth")
    database.table("int_user_group_ancestors", columns, ancestors)
    roles = [
        (object_type, role, name)
        for object_type, by_role in ROLE_PERMISSIONS.items()
        for role, names in by_role.items()
        for name in names or (None,)
    ]
    columns = ("object_type", "role_name", "permission_name")
    database.table("role_permissions", columns, roles)
    objects = [
        (object_type, key, row["name"], row.get("owner_user_id"))
        for object_type, found in rights.objects.items()
        for key, row in found.items()
    ]
    columns = ("object_type", "object_id", "object_name", "owner_user_id")
    database.table("int_securable_objects", columns, objects)
    return staging


class Asked(Macros):
    """The macros over a database in place of Spark."""

    def __init__(self, document: str, database: Database, **options: Any) -> None:
        super().__init__(document, **options)
        self.database = database
        self._called["rows_of"] = database.rows
        self._called["relation_named"] = lambda name: name
        # The models of the question read staging.
        self.since: dict[str, list[str]] = {
            "tables": [],
            "stored": [],
            "of_before": [],
            "not_built": [],
        }
        self.asked_since: list[str] = []
        # Models without a build.
        self.unbuilt: set[str] = set()
        self._called["not_built"] = lambda names: self.unbuilt.intersection(names)
        self._called["staged_since"] = self.staged_since
        # Nobody has noted where the raw tables are.
        self._called["check_raw_schema"] = lambda: ""
        self._called["documented_columns"] = documented_columns
        self._called["uncounted_deliveries_query"] = self.uncounted_of
        self._called["raw_relation"] = self.raw_relation
        self.over({})

    def over(self, world: World) -> Asked:
        """Read the deliveries of this world."""
        self.world, self.is_read, self.is_judged = world, False, False
        return self

    def uncounted_of(self, name: str, *_: Any) -> str:
        """Return the query of a raw table's deliveries that do not count, kept."""
        if not self.is_judged:
            self.is_judged = True
            query = self._call("uncounted_deliveries_query")
            self.database.make("uncounted_deliveries", query)
        return (
            f"select * from uncounted_deliveries where table_name = '{name}'"
            " and reason <> 'not live'"
        )

    def raw_relation(self, name: str, *_: Any) -> str:
        """Return a raw table; all are made when the first is read."""
        if not self.is_read:
            self.is_read = True
            self.read_raw()
        return f"raw_{name}"

    def read_raw(self) -> None:
        """Make the raw tables, as they are delivered."""
        for table, columns in TABLES.items():
            rows = [tuple(r[c] for c in columns) for r in self.world.get(table, ())]
            known = dict.fromkeys(columns, "VARCHAR")
            self.database.table(f"raw_{table}", columns, rows, known)

    def staged_since(self, names: list[str]) -> dict[str, list[str]]:
        """Return a test's result about the subject."""
        self.asked_since = list(names)
        return self.since

    def state(self, sides: Sides, person: Row) -> State | None:
        """Return the state in which new rows are searched for a user."""
        return grants_state(Built(self._called, str), sides, person)

    def ask(self, **given: Any) -> list[Row]:
        """Return the answers of the operation, from its JSON."""
        self.printed.clear()
        self.why(**given, format="json")
        return json.loads("".join(self.printed))["answers"]

    def lines(self, **given: Any) -> list[str]:
        """Return what the operation prints for people."""
        self.printed.clear()
        self.why(**given)
        return list(self.printed)


def products(database: Database) -> Asked:
    """Return the macros with the product's own config."""
    return Asked(document_of(PRODUCTS), database)
