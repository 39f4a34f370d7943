"""Runs rendered secure datasets over small tables in memory."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from rendering import Macros

Rows = list[tuple]


def view_name(model: str) -> str:
    """Return the view that stands for a model, which hides no built relation."""
    return f"policies_{model}"


class Sandbox:
    """Small tables, and what the project's macros make of them."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.types: dict[str, dict[str, str]] = {}
        self.table("stg_users", "user_id bigint, is_live boolean", [])
        self.roles({})

    def table(self, name: str, schema: str, rows: Iterable[tuple]) -> None:
        """Make a table: `schema` as in `id bigint, name string`."""
        columns = dict(part.strip().split(" ", 1) for part in schema.split(", "))
        self.types[name] = columns
        frame = self.spark.createDataFrame(list(rows), schema, verifySchema=False)
        frame.coalesce(1).createOrReplaceTempView(view_name(name))

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
        frame = self.spark.sql(sql)
        frame.createOrReplaceTempView(view)
        self.types[f"vw_secure_dataset_{name}"] = {
            field.name: field.dataType.simpleString() for field in frame.schema
        }
        return view

    def rows(self, query: str) -> Rows:
        """Return the rows of a query, in order."""
        return sorted(map(tuple, self.frame(query).collect()), key=repr)

    def frame(self, query: str) -> DataFrame:
        """Return a query's result."""
        return self.spark.sql(query)


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
