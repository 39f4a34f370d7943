"""Who gains and loses what between two states that lie in one quick engine.

By the queries with which `diff` compares two states that were built.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from access_changes.changes import AccessChanges
from secure_datasets.engines.duckdb import Made
from secure_datasets.questions.macros import Package, Row

QUERIES = ("changed_access", "changed_raw_rows", "changed_paths", "access_changes")
SCHEMA = "compared_states"


def access_changes(before: Package, after: Package, schemas: list[str]) -> list[Row]:
    """Return what each user has gained or lost, with paths and causes.

    schemas  those of the two states
    """
    sides = zip(("before", "after"), schemas, (before, after), strict=True)
    states = [_state(side, schema, package) for side, schema, package in sides]
    for name in QUERIES:
        after.relations[name] = f"{SCHEMA}.{name}"
        query = after[f"{name}_query"]
        after.engine.put(f"{SCHEMA}.{name}", Made(partial(query, states)))
    return after["rows_of"](
        f"select * from {SCHEMA}.access_changes"
        " order by tier, user_id, object_keys, change"
    )


def _state(side: str, schema: str, package: Package) -> dict[str, Any]:
    definitions = package["rows_of"](
        f"select kind, name, definition from {schema}.state_definitions"
    )
    models = package.state.values["graph"]["nodes"].values()
    relations = {node["alias"].lower() for node in models if node.get("alias")}
    return AccessChanges().state(side, schema, definitions, relations)


def row_changes(package: Package, schemas: list[str]) -> list[Row]:
    """Return how many rows of each secure dataset each user gains and loses.

    A row is told from others by its dataset's unique key. A user who is null stands for
    everybody.
    """
    found: list[Row] = []
    config = package.state.document["config"]
    for name, dataset in config["datasets"].items():
        keys = ", ".join(["user_id", *dataset["unique_key"]])
        one, other = (f"{schema}.vw_secure_dataset_{name}" for schema in schemas)
        for side, (has, lacks) in {
            "lost": (one, other),
            "gained": (other, one),
        }.items():
            rows = package["rows_of"](
                "select user_id, count(*) as number from"
                f" (select {keys} from {has} except select {keys} from {lacks})"
                " as found group by user_id order by user_id"
            )
            found += [{"dataset": name, "side": side, **row} for row in rows]
    return found
