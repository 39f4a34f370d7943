"""The question why over small worlds in DuckDB: the project's macros, without Spark.

The published relations are those that the independent evaluators expect, so that the
answers are held against what the law says and not against what the project makes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from functools import cache, lru_cache, partial
from itertools import count
from pathlib import Path
from typing import Any
from weakref import finalize

import duckdb
import sqlglot
from dbt.clients.yaml_helper import safe_load
from oracle.contract import (
    COLUMNS,
    ROLE_PERMISSIONS,
    TABLES,
    UNREADABLE,
    Delivery,
    Groups,
    RawRow,
    Rights,
    Staging,
    World,
    ascii_lower,
    differ,
    evaluate,
    known_name,
    newest,
    read_delivery,
    read_value,
    recency,
    stage,
)
from oracle.paths import PATH_COLUMNS, access_paths
from own_config import PRODUCTS, document_of
from rendering import ROOT, VARS, Macros
from staging_sandbox import FUNCTIONS, WHITE_SPACE, in_duckdb

Row = dict[str, Any]

TYPES = {
    bool: "BOOLEAN",
    int: "BIGINT",
    datetime: "TIMESTAMP",
    Decimal: "DECIMAL(18,4)",
}


def repository_tables() -> dict[str, Row]:
    """Return the raw tables as macros see them."""
    return Macros(document_of(PRODUCTS)).repository_tables()


def documented_columns(*more: Path) -> dict[str, dict[str, Row]]:
    """Return what the documentation of the base datasets says of their columns."""
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
    """Return a query in Spark's SQL as DuckDB's: the same are asked of many worlds."""
    return sqlglot.transpile(query, read="spark", write="duckdb")[0]


@cache
def _process() -> duckdb.DuckDBPyConnection:
    """Return the one connection of this process."""
    return duckdb.connect(config={"threads": 1})


def _detach(name: str) -> None:
    """Free a database that nobody holds any longer."""
    _process().execute(f"detach {name}")


class Database:
    """Tables in DuckDB, asked in Spark's SQL."""

    numbers = count()

    def __init__(self) -> None:
        self.connection = _process().cursor()
        # To connect anew takes sixty times as long.
        name = f"database_{next(self.numbers)}"
        self.connection.execute(f"attach ':memory:' as {name}; use {name}")
        finalize(self, _detach, name)
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
        """Make a table of what a query in Spark's SQL gives."""
        sql = translated(query)
        self.connection.execute(f"create or replace table {name} as {sql}")

    def _read_as_staging(self) -> None:
        characters = WHITE_SPACE.strip("'").encode("ascii").decode("unicode_escape")
        self.connection.execute("set variable white_space = ?", [characters])
        for function in FUNCTIONS:
            self.connection.execute(f"create or replace macro {function}")

    def rows(self, query: str) -> list[Row]:
        """Return the rows of a query as mappings, in the types of JSON."""
        self.queries.append(query)
        if WHITE_SPACE in query:
            # It reads what was delivered, as staging does.
            self._read_as_staging()
            sql = in_duckdb(query)
        else:
            sql = translated(query)
        found = self.connection.execute(sql)
        names = [column[0] for column in found.description]
        rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
        return self.as_json(rows)

    def as_json(self, rows: list[Row]) -> list[Row]:
        """Return rows in the types of JSON."""
        return json.loads(json.dumps(rows, default=str))


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


NAMES_OF_USERS = ("login_name", "email")
RECORDED = ("date_created", "created_by", "date_modified", "modified_by")


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
                *(None, None, False, None),
            )
            for row in staging.winners[table].values()
        ]
        for raw_id, reason in rejected.get(table, ()):
            read = read_value("bigint", raw_id)
            read = None if read is UNREADABLE else read
            raw_row = json.dumps(taken[table].get(read, {"id": raw_id}))
            nothing = (None for _ in names[1:])
            rows.append((read, *nothing, False, reason, raw_row, False, None))
        more = ("is_live", "rejection_reason", "raw_row", "is_deleted", "deleted_on")
        database.table(f"stg_{table}", [*names, *more], rows)
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
        # What is asked is made of what is staged.
        self.since: dict[str, list[str]] = {
            "tables": [],
            "stored": [],
            "of_before": [],
            "not_built": [],
        }
        self.asked_since: list[str] = []
        # Models that no run has built.
        self.unbuilt: set[str] = set()
        self._called["_is_built"] = lambda name: name not in self.unbuilt
        self._called["staged_since"] = self.staged_since
        # Nobody has noted where the raw tables are.
        self._called["check_raw_schema"] = lambda: ""
        self._called["_documented_columns"] = documented_columns
        # How raw values are read is Spark's own SQL: here the evaluator reads them.
        self._called["_deliveries_of"] = self.deliveries_of
        self._called["_deliveries_of_user"] = self.deliveries_of_user
        self._called["_ids_in_conflict"] = self.ids_in_conflict
        Asked.over(self, {}, Staging())

    def over(
        self, world: World, staging: Staging, staged: World | None = None
    ) -> Asked:
        """Read the deliveries of this world, of which these were `staged`, or all."""
        self.world, self.staging = world, staging
        self.staged = world if staged is None else staged
        # By table: each question asks some of them anew.
        self._read: dict[str, list[Delivery]] = {}
        self._taken: dict[str, dict[int, Delivery]] = {}
        return self

    def read_deliveries(self, name: str) -> list[Delivery]:
        """Return the deliveries of a table, as they are read."""
        if name not in self._read:
            self._read[name] = [
                read_delivery(name, raw) for raw in self.world.get(name, ())
            ]
        return self._read[name]

    def taken_deliveries(self, name: str) -> dict[int, Delivery]:
        """Return the deliveries of a table that staging judged, by id."""
        if name not in self._taken:
            judged = judged_deliveries({name: self.staged.get(name, [])})[name]
            self._taken[name] = {
                key: read_delivery(name, raw) for key, raw in judged.items()
            }
        return self._taken[name]

    def staged_since(self, names: list[str]) -> dict[str, list[str]]:
        """Return what a test says, of what is asked about."""
        self.asked_since = list(names)
        return self.since

    def deliveries_of(self, name: str, keys: Row) -> list[Row]:
        """Return the deliveries with these keys, and what staging took of each row."""
        table, found = self.repository_tables()[name], []
        rejected = {
            (table_name, raw_id): reason
            for table_name, raw_id, reason, _ in self.staging.rejected
        }
        reasons = {
            read_value("bigint", raw_id): reason
            for (table_name, raw_id), reason in rejected.items()
            if table_name == name
        }
        taken = self.taken_deliveries(name)
        by_id: dict[Any, list] = {}
        for delivery in self.read_deliveries(name):
            by_id.setdefault(delivery.read["id"], []).append(delivery)

        def is_later(delivery: Delivery) -> bool:
            # Staging would have taken it, had it been there.
            before = taken.get(delivery.read["id"])
            return isinstance(delivery.read["id"], int) and (
                before is None or recency(delivery) > recency(before)
            )

        for delivery in self.read_deliveries(name):
            read = {
                column: None if value is UNREADABLE else value
                for column, value in delivery.read.items()
            }
            if any(read[key] != value for key, value in keys.items()):
                continue
            staged = self.staging.winners[name].get(read["id"], {})
            newest_of_all = newest(by_id[delivery.read["id"]])
            told = [*RECORDED, *table["references"]]
            row = {column: read[column] for column in told} | {
                "raw_id": delivery.raw["id"],
                "id": read["id"],
                "is_active": read["is_active"] is True,
                "staged_is_live": staged.get("is_active") is True,
                "rejection_reason": reasons.get(read["id"]),
                "raw_row": json.dumps(
                    taken[read["id"]].raw if read["id"] in taken else None
                ),
                "is_later": is_later(delivery),
                "is_newest": delivery in newest_of_all,
                "newest_is_later": is_later(newest_of_all[0]),
                "newest_is_active": newest_of_all[0].active,
                "newest_is_conflict": differ(newest_of_all),
            }
            columns = [*RECORDED, *table["references"]]
            if table["object_type"]:
                columns.append("role_name")
                row["role_text"] = read["role_name"]
                row["role_name"] = self._role(name, read["role_name"])
            row |= {f"staged_{column}": staged.get(column) for column in columns}
            for column in columns[len(RECORDED) :]:
                value = newest_of_all[0].read[column]
                value = self._role(name, value) if column == "role_name" else value
                row[f"newest_{column}"] = None if value is UNREADABLE else value
            found.append(row)
        return found

    def ids_in_conflict(self, text: str) -> list[int]:
        """Return the users in conflict whom one of their newest deliveries calls so."""
        by_id: dict[Any, list] = {}
        for each in self.staged.get("users", ()):
            delivery = read_delivery("users", each)
            by_id.setdefault(delivery.read["id"], []).append(delivery)
        called = ascii_lower(text.strip("'"))
        return [
            key
            for key, deliveries in by_id.items()
            if isinstance(key, int) and differ(newest(deliveries))
            for each in newest(deliveries)
            if called in [ascii_lower(each.read[c] or "") for c in NAMES_OF_USERS]
        ]

    def _role(self, table: str, role: str | None) -> str | None:
        """Return a role as the contract spells it, or as it was delivered."""
        kind = self.repository_tables()[table]["object_type"]
        known = known_name(role, ROLE_PERMISSIONS[kind])
        return role if known is UNREADABLE else known

    def deliveries_of_user(self, user_id: int) -> Row:
        """Return what was delivered of a user, with all groups and the role table."""
        groups, own = Groups(self.staging), []
        for key, row in self.staging.winners["user_groups"].items():
            own.append(
                {
                    "user_group_id": key,
                    "name": row["name"],
                    "parent_user_group_id": row["parent_user_group_id"],
                    "is_live": row["is_active"] is True,
                    "rejection_reason": None,
                    "raw_row": None,
                    "date_modified": row["date_modified"],
                    "modified_by": row["modified_by"],
                }
            )
        in_force = [
            {"user_group_id": group, "ancestor_user_group_id": groups.parent(group)}
            for group in groups.live
            if groups.parent(group) is not None and not groups.in_ring(group)
        ]
        roles = [
            {"object_type": kind, "role_name": role, "permission_name": name}
            for kind, names in ROLE_PERMISSIONS.items()
            for role, found in names.items()
            for name in found or (None,)
        ]
        return {
            "user_id": user_id,
            "members": self.deliveries_of("user_group_members", {"user_id": user_id}),
            "global_roles": self.deliveries_of(
                "user_global_roles", {"user_id": user_id}
            ),
            "groups": own,
            "parents": [
                row
                for row in self.deliveries_of("user_groups", {})
                if row["parent_user_group_id"] is not None
            ],
            "in_force": in_force,
            "roles": roles,
        }

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


class AskedOfRaw(Asked):
    """The same, by the project's own SQL over the raw tables."""

    def __init__(self, document: str, database: Database, **options: Any) -> None:
        super().__init__(document, database, **options)
        for name in ("_deliveries_of", "_deliveries_of_user", "_ids_in_conflict"):
            self._called[name] = partial(self._call, name)
        self._called["raw_relation"] = lambda name: f"raw_{name}"
        self.stand_in(var=lambda name, default=None: VARS.get(name, default))

    def over(
        self, world: World, staging: Staging, staged: World | None = None
    ) -> AskedOfRaw:
        """Read the deliveries of this world, as they came."""
        for table, columns in TABLES.items():
            rows = [tuple(raw[c] for c in columns) for raw in world.get(table, ())]
            known = dict.fromkeys(columns, "VARCHAR")
            self.database.table(f"raw_{table}", columns, rows, known)
            # Of a table without rows no value tells the type.
            kinds = {c: "timestamptz" for c, kind in columns.items() if kind == "ts"}
            for column, kind in (kinds | {"is_live": "boolean"}).items():
                self.database.connection.execute(
                    f"alter table stg_{table} alter {column} type {kind}"
                )
        super().over(world, staging, staged)
        return self
