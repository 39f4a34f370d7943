"""A past state is what the deliveries until then make, whatever they are.

`WORLDS` in the environment says how many random worlds: 60 unless it is given.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta

import pytest
from comparison import COMPARED, comparable, described, wanted_rows
from compiled import COMPILED_AS_OF, Model, as_of, kept_models
from oracle.contract import World, delivered_until, evaluate, load_time
from quick import LAYER, QuickProject, differences
from random_worlds import random_world
from sample_history import ACCESS_VIEWS, MOMENTS, expected_access, sample
from worlds import batch, moments_of

WORLDS = int(os.environ.get("WORLDS", "60"))
IN_A_BATCH = 20
# Other worlds than those that are compared as they are now.
FIRST_SEED = 500


@pytest.fixture(scope="session")
def models() -> list[Model]:
    """The project, compiled as of some moment."""
    return kept_models(as_of=str(COMPILED_AS_OF))


@pytest.fixture(scope="session")
def engine(models):
    """Run a world as of a moment: the engine that has the relations."""

    def run(world: World, moment: datetime):
        return QuickProject(as_of(models, moment)).run(world)

    return run


@pytest.mark.parametrize("first", range(0, WORLDS, IN_A_BATCH))
def test_T3_as_of_a_moment_is_the_pipeline_on_the_deliveries_until_then(engine, first):
    seeds = range(FIRST_SEED + first, FIRST_SEED + min(first + IN_A_BATCH, WORLDS))
    world = batch(seeds)
    moments = moments_of(world)
    # A load time itself, so that it is asked whether it counts: from the middle one on.
    steps = max(1, WORLDS // IN_A_BATCH - 1)
    moment = moments[len(moments) * (2 * steps + first // IN_A_BATCH) // (4 * steps)]
    expected = evaluate(delivered_until(world, moment))
    wanted = wanted_rows(expected)
    present = wanted_rows(evaluate(world))
    idle = [name for name, rows in wanted.items() if not rows]
    same = [n for n, r in wanted.items() if comparable(r) == comparable(present[n])]
    # Of many batches, some have no row of a kind.
    assert first or not (idle or same), f"as of {moment}: {idle}, {same}"
    found = differences(engine(world, moment), expected)
    assert not found, f"as of {moment}, the seeds {seeds}: {described(found)}"


def test_T3_as_of_the_last_load_is_now(engine):
    world = batch(range(FIRST_SEED, FIRST_SEED + 3))
    last = moments_of(world)[-1]
    found = differences(engine(world, last), evaluate(world))
    assert not found, f"as of {last}: {described(found)}"


def test_T3_before_the_first_load_nobody_sees_anything(engine):
    # Without those of no load time, and of the first moment of the calendar.
    world = {
        table: [r for r in rows if (load_time(r) or datetime.min) > datetime.min]
        for table, rows in random_world(FIRST_SEED).items()
    }
    assert any(evaluate(world).relations["vw_secure_dataset_tests"])
    before = moments_of(world)[0] - timedelta(microseconds=1)
    found = engine(world, before)
    shown = {n: found.ask(f"select * from {LAYER}.{n} limit 1") for n in COMPARED}
    assert not {name: rows for name, rows in shown.items() if rows}


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: str(moment.date()))
def test_T1_a_day_of_the_sample_is_as_a_person_worked_it_out(engine, moment):
    found = engine(sample(), moment)
    assert {
        tuple(row.values())
        for name, columns in ACCESS_VIEWS.items()
        for row in found.ask(f"select {', '.join(columns)} from {LAYER}.{name}")
    } == expected_access(moment)
