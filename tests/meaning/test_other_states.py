"""Another state, worked out for a question, is what the contract says of its raw rows.

A twentieth of `WORLDS` in the environment, or of 200, is the number of random worlds.
"""

from __future__ import annotations

import copy
import os
import random
from importlib.metadata import version

import pytest
from comparison import comparable, values_of, wanted_rows
from oracle.contract import World, delivered_until, evaluate
from published_worlds import PublishedWorld
from quick import found_rows
from random_worlds import random_world
from rendering import ROOT
from worlds import moments_of

from secure_datasets.engines.duckdb import DuckDB, as_json
from secure_datasets.engines.published import read_state, relations_of
from secure_datasets.questions import differences
from secure_datasets.questions.edits import Edits
from secure_datasets.questions.lookups import Lookups
from secure_datasets.questions.macros import Package
from secure_datasets.questions.resolution import resolved

SEEDS = range(int(os.environ.get("WORLDS", "200")) // 20 or 1)
OTHER, NOW = "another_state", "present_state"
ACCESS = (
    "vw_secure_user_project_access",
    "vw_secure_user_data_source_access",
    "vw_secure_user_results_access",
)
SHOWN = (*ACCESS, "vw_secure_dataset_tests", "vw_secure_dataset_event_history")
# What says that somebody or something has a row of its own, by raw table.
GRANTS = ("project_permissions", "data_source_permissions", "user_group_members")


def folder(package: str):
    """Return the folder of the product."""
    return ROOT


@pytest.fixture
def published(tmp_path):
    """Publish a world: its package, its engine, and the file of its state."""

    def publish(world: World):
        path = PublishedWorld(tmp_path / "published", world).path
        state = read_state(path, version("secure-datasets"))
        engine = DuckDB(relations_of(state), fingerprints=True)
        return Package(state, engine, as_json), engine, path

    return publish


def unlike(engine: DuckDB, expected, schema: str = OTHER) -> dict[str, list]:
    """Return where relations of a state differ from what the oracle expects."""
    wanted = {name: comparable(rows) for name, rows in wanted_rows(expected).items()}
    found = {name: found_rows(engine, name, schema) for name in SHOWN}
    return {
        name: [
            *(("too many", values_of(row)) for row in found[name] - wanted[name]),
            *(("missing", values_of(row)) for row in wanted[name] - found[name]),
        ]
        for name in SHOWN
        if found[name] != wanted[name]
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_T3_a_moment_is_worked_out_from_the_rows_until_then(published, seed):
    world = random_world(seed)
    now, engine, _ = published(world)
    moment = random.Random(seed).choice(moments_of(world))
    resolved(now.state, folder, engine, OTHER, as_of=str(moment))
    assert not unlike(engine, evaluate(delivered_until(world, moment)))


@pytest.mark.parametrize("seed", SEEDS)
def test_Q6_what_if_is_the_difference_after_doing_it(published, seed):
    world = random_world(seed)
    read, engine, _ = published(world)
    now = resolved(read.state, folder, engine, NOW, as_of=str(moments_of(world)[-1]))
    number, chosen = random.Random(seed), {}
    for table in GRANTS:
        key = now.state.document["raw_tables"][table]["key"]
        live = now["rows_of"](
            f"select {key} as id from {NOW}.stg_{table} where is_live order by 1"
        )
        if live:
            chosen[table] = number.choice(live)["id"]
    edits = Edits(Lookups(now))
    for table, row in chosen.items():
        edits.remove_row(f"row {row} of {table}")
    then = resolved(now.state, folder, engine, OTHER, queries=edits.queries())
    after = copy.deepcopy(world)
    for table, row in chosen.items():
        after[table] = [each for each in after[table] if not is_id(each["id"], row)]
    expected = evaluate(after)
    assert not unlike(engine, expected)
    # The changes are those between the two evaluations, each with a row that went.
    found = differences.access_changes(now, then, [NOW, OTHER], is_supposed=True)
    projects = {
        (row["user_id"], row["project_id"]): row["change"]
        for row in found
        if row["tier"] == "project" and row["change"] != "other access_type"
    }
    has = [
        {row[:2] for row in evaluation.relations["vw_secure_user_project_access"]}
        for evaluation in (evaluate(world), expected)
    ]
    lost = {(user, project): "lost" for project, user in has[0] - has[1]}
    assert lost == projects
    went = {f"{table} {row} went" for table, row in chosen.items()}
    assert {cause for row in found for cause in row["causes"]} <= went


def is_id(text: str | None, number: int) -> bool:
    """Whether a raw id is a number, as staging reads it."""
    try:
        return int(str(text).strip()) == number
    except ValueError:
        return False
