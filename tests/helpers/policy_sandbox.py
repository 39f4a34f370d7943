"""Runs rendered secure datasets over small tables in memory."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from rendering import Macros

from secure_datasets.engines.duckdb import DuckDB, Rows, View

Row = tuple[Any, ...]


def view_name(model: str) -> str:
    """Return the view that stands for a model, which hides no built relation."""
    return f"policies_{model}"


class Sandbox:
    """Small tables, and what the project's macros make of them, in the quick engine."""

    def __init__(self) -> None:
        self.types: dict[str, dict[str, str]] = {}
        self.start()
        self.table("stg_users", "user_id bigint, is_live boolean", [])
        self.roles({})

    def start(self) -> None:
        """Start what answers."""
        self.engine = DuckDB()

    def load(self, view: str, columns: dict[str, str], rows: list[tuple]) -> None:
        """Make rows a relation."""
        self.engine.put(view, Rows(columns, rows))

    def view(self, view: str, query: str) -> None:
        """Make a query a view."""
        self.engine.put(view, View(query))

    def columns(self, view: str) -> dict[str, str]:
        """Return the columns of a view with their types."""
        return self.engine.columns(view)

    def answer(self, query: str) -> list[Row]:
        """Return the rows of a query."""
        return [tuple(row.values()) for row in self.engine.ask(query)]

    def several(self, asked: Iterable[tuple]) -> Iterator[tuple]:
        """Return the rows of views: each with the key and the columns asked for."""
        for key, columns, view in asked:
            for row in self.answer(f"select {', '.join(columns)} from {view}"):
                yield key, columns, row

    def table(self, name: str, schema: str, rows: Iterable[tuple]) -> None:
        """Make a table: `schema` as in `id bigint, name string`."""
        columns = dict(part.strip().split(" ", 1) for part in schema.split(", "))
        self.types[name] = columns
        self.load(view_name(name), columns, list(rows))

    def roles(
        self, roles: dict[int, list[str | int]], inactive: Iterable[int] = ()
    ) -> None:
        """Give each user roles or groups; users are live but for the inactive ones."""
        held = [
            (user, None, role) if isinstance(role, str) else (user, role, None)
            for user, names in roles.items()
            for role in names
        ]
        schema = "user_id bigint, user_group_id bigint, role_name string"
        self.table("vw_secure_user_roles", schema, held)
        names = [
            (
                user,
                [name for name in held if isinstance(name, str)],
                [group for group in held if isinstance(group, int)],
            )
            for user, held in roles.items()
        ]
        self.table(
            "user_role_names",
            "user_id bigint, role_names array<string>, user_group_ids array<bigint>",
            [row for row in names if any(row[1:])],
        )
        users = [(user, user not in inactive) for user in {*roles, *inactive}]
        self.table("stg_users", "user_id bigint, is_live boolean", users)

    def macros(self, document: str, **options: Any) -> Macros:
        """Return the macros with this config."""
        document = textwrap.dedent(document)
        return Macros(document, ref=view_name, types=self.types, **options)

    def secure(self, document: str, name: str, **options: Any) -> str:
        """Make the secure dataset of the config a view; return the name of that."""
        sql = self.macros(document, **options).secure_dataset(name)
        view = view_name(f"vw_secure_dataset_{name}")
        self.view(view, sql)
        self.types[f"vw_secure_dataset_{name}"] = self.columns(view)
        return view

    def rows(self, query: str) -> list[Row]:
        """Return the rows of a query, in order."""
        return sorted(self.answer(query), key=repr)


class SparkSandbox(Sandbox):
    """The same in Spark, for what only Spark can be wrong about."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        super().__init__()

    def start(self) -> None:
        """Spark runs already."""

    def load(self, view: str, columns: dict[str, str], rows: list[tuple]) -> None:
        """Make rows a relation."""
        schema = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        frame = self.spark.createDataFrame(rows, schema, verifySchema=False)
        frame.coalesce(1).createOrReplaceTempView(view)

    def view(self, view: str, query: str) -> None:
        """Make a query a view."""
        self.spark.sql(query).createOrReplaceTempView(view)

    def columns(self, view: str) -> dict[str, str]:
        """Return the columns of a view with their types."""
        fields = self.spark.table(view).schema
        return {field.name: field.dataType.simpleString() for field in fields}

    def answer(self, query: str) -> list[Row]:
        """Return the rows of a query."""
        return [tuple(row) for row in self.spark.sql(query).collect()]

    def several(self, asked: Iterable[tuple]) -> Iterator[tuple]:
        """Return the rows of views, by one query: Spark takes longest to plan."""
        asked = list(asked)
        texts = " union all ".join(
            f"select {number}, to_json(struct({', '.join(columns)}),"
            f" map('ignoreNullFields', 'false')) from {view}"
            for number, (_, columns, view) in enumerate(asked)
        )
        for number, text in self.answer(texts):
            key, columns, _ = asked[number]
            yield key, columns, tuple(json.loads(text).values())


def as_text(row: dict[str, Any]) -> str:
    """Return a row as a text, the same for an oracle's row and an engine's."""
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False, default=str)


def config(*policies: str, dataset: str = "", more: str = "") -> str:
    """Return a config with the dataset `runs` and these policies, one a line."""
    dataset = dataset or (
        "runs: {base: all_runs, columns: [run_id, team_id, unit, result, amount],"
        " unique_key: [run_id], tier: team, keys: {team_id: team_id}}"
    )
    return "\n".join(
        [
            "tiers:",
            "    team:",
            "        access_view: team_access",
            "        object_keys: [team_id]",
            "        carries: []",
            "datasets:",
            textwrap.indent(textwrap.dedent(dataset), "    "),
            textwrap.indent(textwrap.dedent(more), "    "),
            "policies:" if policies else "",
            *(f"    - {{{policy}}}" for policy in policies),
        ]
    )
