"""What readers' views and functions show, over random worlds, loads and accounts."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from compiled import kept_models
from own_config import together
from quick import LAYER, QuickProject
from rendering import Macros
from worlds import batch

from secure_datasets.engines.duckdb import DuckDB, Rows, View
from secure_datasets.readers import ReadersObjects
from secure_datasets.render.readers import function_body, view_query

CONFIG = together()
MODELS = {
    **{name: f"vw_secure_dataset_{name}" for name in CONFIG["datasets"]},
    **{
        tier["access_view"].removeprefix("vw_secure_"): tier["access_view"]
        for tier in CONFIG["tiers"].values()
    },
}
PUBLIC = "event_history"
RIGHTS = ("vw_secure_user_data_source_access", "vw_secure_user_project_access")
GONE = 4711
ME = "me"
# What the accounts map, for a user and another one.
ACCOUNTS = {
    "one user": lambda user, other: [(ME, user), ("another", other)],
    "one user twice": lambda user, other: [(ME, user), (ME, user)],
    "somebody else": lambda user, other: [("another", user)],
    "other letters": lambda user, other: [(ME.upper(), user)],
    "a space": lambda user, other: [(f"{ME} ", user)],
    "two users": lambda user, other: [(ME, user), (ME, other)],
    "a user and no user": lambda user, other: [(ME, user), (ME, GONE)],
    "no user": lambda user, other: [(ME, GONE)],
    "null": lambda user, other: [(ME, None)],
    "no account": lambda user, other: [(None, user)],
    "nothing": lambda user, other: [],
}
# What a function is asked for, for a user.
READERS = {
    "the user": str,
    "with a sign": lambda user: f"+{user}",
    "null": lambda user: None,
    "no user": lambda user: str(GONE),
    "negative": lambda user: f"-{user}",
    "a fraction": lambda user: f"{user}.0",
    "letters": lambda user: f"{user}x",
    "empty": lambda user: "",
}
# The users as they are staged now, after what the datasets show was resolved.
LOADS = {
    "the same": "select * from staged",
    "some users lost": "select * from staged where user_id % 3 != 0",
    "all users lost": "select * from staged where false",
    "some users switched off": (
        "select user_id, if(user_id % 2 = 0, is_live, null) as is_live from staged"
    ),
}


@pytest.fixture(scope="module")
def engine() -> DuckDB:
    """Twenty random worlds, with everything that readers may read."""
    engine = QuickProject(kept_models()).run(batch(range(20)))
    engine.store("staged", f"select user_id, is_live from {LAYER}.stg_users")
    return engine


@pytest.fixture(scope="module")
def published(engine) -> dict[str, Counter]:
    """The rows of each relation that readers read."""
    return {
        name: Counter(
            tuple(row.items()) for row in engine.ask(f"select * from {LAYER}.{model}")
        )
        for name, model in MODELS.items()
    }


@pytest.fixture(scope="module")
def queries(engine) -> dict[tuple[str, str], str]:
    """The query of each view and function, for the account and the id in `asked`."""
    macros = Macros("")
    nodes = {
        name: {
            **{"name": name, "alias": name, "schema": LAYER},
            **{"package_name": LAYER, "relation_name": f"{LAYER}.{name}"},
        }
        for name in RIGHTS
    }
    macros.stand_in(relation_named=lambda name: f"{LAYER}.{name}")
    adapter = SimpleNamespace(
        definitions=lambda schema, name: {name: ""}, with_catalog=str
    )
    users = ReadersObjects(adapter, macros._called, None, nodes, {}).users()
    found = {}
    for name, model in MODELS.items():
        source = {
            "name": name,
            "relation": f"{LAYER}.{model}",
            "columns": engine.columns(f"{LAYER}.{model}"),
            "has_public_rows": name == PUBLIC,
        }
        view = view_query(source, "accounts", users)
        function = function_body(source, users)
        asked = "(select asked.reader from asked)"
        assert f"{name}_of.reader" in function
        # The quick engine knows neither an account nor a number of its own.
        view = view.replace("current_user()", f"'{ME}'")
        found["view", name] = view.replace("and rand() >= 0", "")
        found["function", name] = function.replace(f"{name}_of.reader", asked)
    return found


class Readers:
    """What is loaded and mapped, and who should see which rows."""

    def __init__(
        self, engine: DuckDB, published: dict[str, Counter], load: str
    ) -> None:
        self.engine, self.published = engine, published
        engine.put(f"{LAYER}.stg_users", View(LOADS[load]))
        staged = engine.ask(f"select user_id, is_live from {LAYER}.stg_users")
        self.live = {row["user_id"] for row in staged if row["is_live"]}
        known = {row["user_id"] for row in staged}
        for model in RIGHTS:
            held = engine.ask(f"select distinct user_id from {LAYER}.{model}")
            self.live |= {row["user_id"] for row in held} - known

    def wanted(self, name: str, user: int | None) -> Counter:
        """Return the rows of a user: everybody's too if the user is live."""
        if name == PUBLIC and user not in self.live:
            user = None
        shown = {user, None} if name == PUBLIC else {user}
        return Counter(
            {
                row: times
                for row, times in self.published[name].items()
                if user is not None and dict(row)["user_id"] in shown
            }
        )

    def ask(self, query: str) -> Counter:
        """Count the rows of a query."""
        return Counter(tuple(row.items()) for row in self.engine.ask(query))


def users_of(engine: DuckDB, seed: str) -> list[int]:
    """Return all users in a random order, those last who have rights."""
    users = [row["user_id"] for row in engine.ask("select user_id from staged")]
    random.Random(seed).shuffle(users)
    query = " union ".join(f"select user_id from {LAYER}.{model}" for model in RIGHTS)
    holders = {row["user_id"] for row in engine.ask(query)}
    return sorted(users, key=holders.__contains__)


@pytest.mark.parametrize("load", LOADS)
def test_an_account_gets_the_rows_of_the_one_live_user_it_is_mapped_to(
    engine, published, queries, load
):
    readers = Readers(engine, published, load)
    users = users_of(engine, load)
    shown = []
    for kind, mapped in ACCOUNTS.items():
        for user in [users.pop() for _ in range(6 if kind.startswith("one") else 1)]:
            rows: list[tuple[Any, Any]] = mapped(user, users[0])
            columns = {"account": "string", "user_id": "bigint"}
            engine.put("accounts", Rows(columns, rows))
            is_mapped = kind.startswith("one user")
            for name in MODELS:
                found = readers.ask(queries["view", name])
                wanted = readers.wanted(name, user if is_mapped else None)
                assert found == wanted, (name, kind, user)
                if is_mapped:
                    shown.append((name, bool(found)))
    assert {("tests", True), (PUBLIC, True)} < {*shown}
    assert ((PUBLIC, False) in shown) is (load == "some users switched off")


@pytest.mark.parametrize("load", LOADS)
def test_a_function_gives_the_rows_of_the_live_user_with_that_id(
    engine, published, queries, load
):
    readers = Readers(engine, published, load)
    users = users_of(engine, load)
    for kind, written in READERS.items():
        for user in [users.pop() for _ in range(6 if kind == "the user" else 1)]:
            engine.put("asked", Rows({"reader": "string"}, [(written(user),)]))
            is_id = kind in ("the user", "with a sign")
            for name in MODELS:
                found = readers.ask(queries["function", name])
                wanted = readers.wanted(name, user if is_id else None)
                assert found == wanted, (name, kind, user)
