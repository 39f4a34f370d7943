"""Which single rows are the last support of what a user sees: W7, by removing each."""

from __future__ import annotations

import random

import pytest
from oracle.contract import World, read_value, stage
from random_worlds import random_world
from tier_questions import NAMES, VIEWS, Question, nobody_sees, raw, reached, to_user

# What gives rights; the user's row and the objects' are needed in any case.
GIVING = (
    *("user_global_roles", "user_groups", "user_group_members"),
    *("data_source_permissions", "project_permissions", "project_data_sources"),
)


def without(world: World, table: str, row_id: int) -> World:
    """Return a world without a row: without all that was delivered of its id."""
    kept = [row for row in world[table] if read_value("bigint", row["id"]) != row_id]
    return world | {table: kept}


def support(question: Question, user: int, **given: object) -> set[tuple[str, int]]:
    """Return what the operation says."""
    answers = question.asked.ask(user=user, **given)
    (answer,) = [a for a in answers if a["user"]["user_id"] == user]
    assert answer["seen"]
    return {(row["table"], row["id"]) for row in answer["last_support"]}


@pytest.mark.parametrize("seed", [1, 5])
def test_W7_exactly_the_rows_whose_removal_alone_closes_the_tier(seed):
    world, chance = random_world(seed), random.Random(seed)
    question, staging = Question(world), stage(random_world(seed))
    rows = [(t, key) for t in GIVING for key in staging.live(t)]
    users = sorted(staging.live("users"))
    asked = [
        (user, tier, key)
        for user in chance.sample(users, min(8, len(users)))
        for tier, keys in reached(world, user).items()
        for key in sorted(keys)[:1]
    ]
    assert asked
    for user, tier, key in asked[:5]:
        named = dict(zip(NAMES[tier], key, strict=True))
        found = support(question, user, tier=tier, object=named)
        for row in [*found, *chance.sample(rows, 12)]:
            if row[0] not in GIVING:
                # The data source itself, where ownership alone gives the right.
                assert row[0] == "meta_data_sources"
                continue
            is_left = key in reached(without(world, *row), user)[tier]
            assert is_left is (row not in found), (user, tier, key, row)


def test_W7_one_path_means_its_rows_and_two_paths_mean_none():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    asked = {"dataset": "tests", "row": {"test_id": 1}}
    assert support(Question(world), 1, **asked) == {("project_permissions", 5)}
    world["project_permissions"].append(
        raw("project_permissions", id=6, project_id=1, user_group_id=2)
    )
    question = Question(world)
    assert support(question, 1, **asked) == set()
    world["project_permissions"].pop(0)
    wanted = {("project_permissions", 6), ("user_group_members", 1)}
    wanted |= {("user_groups", 1), ("user_groups", 2)}
    assert support(Question(world), 1, **asked) == wanted
    lines = question.asked.lines(user=1, **asked)
    assert "    none: whichever single row is taken away, another way is left" in lines


def test_W7_every_tier_is_asked_about():
    assert set(NAMES) == set(VIEWS)
