"""Whatever raw rows are delivered, each published relation is what the contract says.

The whole compiled project runs in the quick engine, from raw rows to secure datasets.
`WORLDS` in the environment says how many random worlds: 200 unless it is given.
"""

from __future__ import annotations

import os
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from comparison import COMPARED, described, wanted_rows
from compiled import kept_models, laid_out
from oracle.contract import (
    COLUMNS,
    TABLES,
    Groups,
    Rights,
    evaluate,
    read_world,
    stage,
)
from projects import ROOT
from quick import LAYER, QuickProject, differences
from worlds import IN_A_BATCH, batch

WORLDS = int(os.environ.get("WORLDS", "200"))
NOT_STAGED = ("id", "is_active", "sf_date_created")
REASONS = (
    *("unreadable id", "conflict", "unreadable is_active", "unreadable date_modified"),
    *("holder", "role", "context", "context key"),
)
OF_REJECTED = ("rejection_reason", "raw_id", "raw_row", "sf_date_created")
SAMPLE_ROWS = ROOT / "seeds" / "repository"


@pytest.fixture(scope="session")
def projects():
    """The project in both layouts of its bases and with both ways of nesting groups."""
    models = kept_models()
    return [
        QuickProject(models),
        QuickProject(laid_out(models, "true"), nests_in_rounds=True),
    ]


def test_every_published_relation_is_compared():
    assert set(COMPARED) == {*COLUMNS, "rejected_rows", "dangling_references"}
    assert len(COLUMNS) == 22


def test_one_of_the_projects_has_the_bases_in_folders(projects):
    plain, in_folders = (
        {model.name: model.sql for model in project.models} for project in projects
    )
    differing = {name for name, sql in plain.items() if sql != in_folders[name]}
    secure = {name for name in COLUMNS if name.startswith("vw_secure_dataset_")}
    assert secure <= differing


# The first worlds in each project, so that few worlds are enough to run both.
BATCHES = [(first, first // IN_A_BATCH % 2) for first in range(0, WORLDS, IN_A_BATCH)]
BATCHES.append((0, 1))


@pytest.mark.parametrize(("first", "project"), BATCHES)
def test_random_worlds_come_out_as_the_contract_says(projects, first, project):
    last = min(first + IN_A_BATCH, WORLDS) - 1
    world = batch(range(first, last + 1))
    expected = evaluate(world)
    idle = [name for name, rows in wanted_rows(expected).items() if not rows]
    assert not idle, f"these worlds prove nothing of {idle}"
    found = differences(projects[project].run(world), expected)
    assert not found, (
        f"a world of the seeds {first} to {last} differs; this finds and shrinks it:\n"
        f"python tests/helpers/soak.py {IN_A_BATCH} {first}\n{described(found)}"
    )


@pytest.mark.parametrize("padded", ["{}\u00a0", "\t{}"], ids=["behind", "before"])
def test_white_space_around_any_value_is_none_of_it(projects, padded):
    world = {
        table: [
            {name: value and padded.format(value) for name, value in row.items()}
            for row in rows
        ]
        for table, rows in batch(range(900, 906)).items()
    }
    found = differences(projects[0].run(world), evaluate(world))
    assert not found, described(found)


@pytest.fixture(scope="module")
def staged(projects):
    """Six random worlds, staged; and what the oracle stages of them."""
    world = batch(range(900, 906))
    return projects[0].run(world), stage(world)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_staged_as_the_contract_says(staged, table):
    engine, staging = staged
    key = f"{table[:-1]}_id"
    columns = [c for c in TABLES[table] if c not in NOT_STAGED]
    taken, rejected = {}, Counter()
    for row in engine.ask(f"select * from {LAYER}.stg_{table}"):
        row = {name: without_zone(value) for name, value in row.items()}
        reason = row["rejection_reason"]
        if reason is None:
            assert row[key] not in taken
            taken[row[key]] = {name: row[name] for name in (*columns, "is_live")}
            continue
        # Which of several tied deliveries stands for a conflict is open.
        raw_id = None if reason == "conflict" else row["raw_id"]
        rejected[raw_id, reason, row["sf_date_created"]] += 1
        # A rejected row has its id and what people look for; nothing that could grant.
        assert row["raw_row"]
        assert not row["is_live"]
        assert not {n for n in row.keys() - {*OF_REJECTED, key} if row[n]}
    assert taken == {
        key: {c: row[c] for c in columns} | {"is_live": row["is_active"] is True}
        for key, row in staging.winners[table].items()
    }
    assert rejected == Counter(
        (None if reason == "conflict" else raw_id, reason, loaded)
        for name, raw_id, reason, loaded in staging.rejected
        if name == table
    )


def test_the_staged_worlds_have_every_reason(staged):
    _, staging = staged
    assert {reason for _, _, reason, _ in staging.rejected} >= set(REASONS)


def test_a_user_has_the_roles_of_groups_and_a_global_one_by_its_own_row_alone(projects):
    world, named = batch(range(900, 903)), ("Global Admin", "Global Data Source Admin")
    for row in world["user_groups"]:
        # Some groups bear the name of a global role.
        digit = (row["id"] or "").strip()[-1:]
        row["name"] = {"1": named[0], "2": f" {named[1]}"}.get(digit, row["name"])
    staging = stage(world)
    groups, rights = Groups(staging), Rights(staging)
    wanted = Counter(
        (user, group, None if name in named else name)
        for group, users in groups.holders().items()
        for name in [groups.live[group]["name"]]
        for user in users
    )
    assert any(groups.live[group]["name"] in named for _, group, _ in wanted)
    wanted.update(
        (user, None, name) for name in named for user in rights.global_roles[name]
    )
    rows = projects[0].run(world).ask(f"select * from {LAYER}.vw_secure_user_roles")
    columns = ("user_id", "user_group_id", "role_name")
    assert Counter(tuple(row[name] for name in columns) for row in rows) == wanted


def without_zone(value: Any) -> Any:
    """Return a moment in UTC without its zone, and any other value as it is."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


def test_the_sample_comes_out_as_the_contract_says(projects):
    world = read_world(Path(SAMPLE_ROWS))
    found = differences(projects[0].run(world), evaluate(world))
    assert not found, described(found)
