"""Random worlds come out of the project as the oracle of the contract says."""

from __future__ import annotations

import pytest
from comparison import COMPARED, described, wanted_rows
from compiled import compile_models, laid_out
from oracle.contract import COLUMNS, evaluate
from pipeline import SESSIONS, Pipeline, differences, session_settings
from worlds import batch

pytestmark = pytest.mark.spark

WORLDS_IN_A_BATCH = 20
BATCHES = [
    pytest.param(number * WORLDS_IN_A_BATCH, zone, ansi, id=f"{zone}, ANSI {ansi}")
    for number, (zone, ansi) in enumerate(SESSIONS)
]


@pytest.fixture(scope="module")
def models(project, parsed):
    """The project's models, compiled."""
    return compile_models(project, project / "target" / "worlds", parsed)


def test_every_published_relation_is_compared():
    assert set(COMPARED) == {*COLUMNS, "rejected_rows", "dangling_references"}
    assert len(COLUMNS) == 22


def test_one_of_the_sessions_has_the_bases_in_folders(models):
    assert laid_out(models, SESSIONS[0][1]) == models
    pairs = zip(models, laid_out(models, SESSIONS[1][1]), strict=True)
    in_folders = {model.name for model, laid in pairs if model.sql != laid.sql}
    secure = {name for name in COLUMNS if name.startswith("vw_secure_dataset_")}
    assert secure <= in_folders


@pytest.mark.parametrize(("first", "zone", "ansi"), BATCHES)
def test_worlds_come_out_as_the_contract_says(spark, models, first, zone, ansi):
    last = first + WORLDS_IN_A_BATCH - 1
    print(f"the worlds of the seeds {first} to {last}")
    world = batch(range(first, last + 1))
    expected = evaluate(world)
    idle = [name for name, rows in wanted_rows(expected).items() if not rows]
    assert not idle, f"these worlds prove nothing of {idle}"
    pipeline = Pipeline(spark, laid_out(models, ansi))
    with session_settings(spark, zone, ansi):
        found = differences(pipeline.run(world), expected)
    assert not found, (
        f"a world of the seeds {first} to {last} differs; this finds and shrinks it:\n"
        f"python tests/helpers/soak.py {WORLDS_IN_A_BATCH} {first} {zone} {ansi}\n"
        f"{described(found)}"
    )
