"""What is looked up of random worlds is what the contract says of their raw rows.

A fiftieth of `WORLDS` in the environment, or of 200, is the number of random worlds.
"""

from __future__ import annotations

import os
from importlib.metadata import version

import pytest
from oracle.contract import OBJECT_TABLES, Groups, World, stage
from published_worlds import PublishedWorld
from random_worlds import random_world

from secure_datasets.engines.duckdb import DuckDB, as_json
from secure_datasets.engines.published import read_state, relations_of
from secure_datasets.questions.lookups import Answer, Lookups
from secure_datasets.questions.macros import Package

SEEDS = range(int(os.environ.get("WORLDS", "200")) // 50 or 1)


@pytest.fixture
def lookups(tmp_path):
    """Publish a world: what can be looked up of it."""

    def publish(world: World) -> Lookups:
        path = PublishedWorld(tmp_path / "published", world).path
        state = read_state(path, version("secure-datasets"))
        engine = DuckDB(relations_of(state), fingerprints=True)
        return Lookups(Package(state, engine, as_json))

    return publish


def column(answer: Answer, title: str, *names: str) -> list[tuple]:
    """Return columns of a table of an answer, sorted; nothing without the table."""
    return sorted(
        tuple(row[table.columns.index(name)] for name in names)
        for table in answer.tables
        if table.title == title
        for row in table.rows
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_Q6_a_group_gives_its_live_rows_to_its_live_members(lookups, seed):
    world = random_world(seed)
    asked, staging = lookups(world), stage(world)
    groups = Groups(staging)
    given = [
        (f"row {key} of {table}", row["user_group_id"])
        for kind, (objects, table) in OBJECT_TABLES.items()
        for key, row in staging.live(table).items()
        if row[f"{objects[:-1]}_id"] in staging.live(objects)
    ]
    for group in staging.winners["user_groups"]:
        answer, above = asked.of_group(str(group)), groups.chain(group)
        wanted = sorted((by,) for by, holder in given if holder in above)
        assert column(answer, "what it gives", "by") == wanted, group
        members = [
            (str(row["user_id"]), f"row {key} of user_group_members")
            for key, row in staging.live("user_group_members").items()
            if row["user_id"] in groups.users
            and group in groups.chain(row["user_group_id"])
        ]
        assert column(answer, "who is in it", "user_id", "by") == sorted(
            (int(user), by) for user, by in members
        ), group
