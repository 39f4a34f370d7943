"""Whatever raw rows are delivered, each published relation is what the contract says.

The whole compiled project runs in the quick engine, from raw rows to secure datasets.
`WORLDS` in the environment says how many random worlds: 200 unless it is given.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from comparison import COMPARED, described, wanted_rows
from compiled import kept_models, laid_out
from oracle.contract import COLUMNS, evaluate, read_world
from projects import ROOT
from quick import QuickProject, differences
from worlds import batch

WORLDS = int(os.environ.get("WORLDS", "200"))
# Planning is most of the work, and the same for many worlds as for few.
IN_A_BATCH = 20
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


@pytest.mark.parametrize("first", range(0, WORLDS, IN_A_BATCH))
def test_random_worlds_come_out_as_the_contract_says(projects, first):
    last = min(first + IN_A_BATCH, WORLDS) - 1
    world = batch(range(first, last + 1))
    expected = evaluate(world)
    idle = [name for name, rows in wanted_rows(expected).items() if not rows]
    assert not idle, f"these worlds prove nothing of {idle}"
    found = differences(projects[first // IN_A_BATCH % 2].run(world), expected)
    assert not found, (
        f"a world of the seeds {first} to {last} differs; this finds and shrinks it:\n"
        f"python tests/helpers/soak.py {IN_A_BATCH} {first}\n{described(found)}"
    )


def test_the_sample_comes_out_as_the_contract_says(projects):
    world = read_world(Path(SAMPLE_ROWS))
    found = differences(projects[0].run(world), evaluate(world))
    assert not found, described(found)
