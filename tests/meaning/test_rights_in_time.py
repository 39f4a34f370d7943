"""Rights that begin and end: whoever reads sees what holds at that moment, and no run.

`WORLDS` in the environment says how many random worlds: 200 unless it is given.
"""

from __future__ import annotations

import os
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from comparison import COMPARED, comparable, described, values_of, wanted_rows
from compiled import kept_sample
from oracle.contract import (
    GIVING_TABLES,
    LIMITS,
    TABLES,
    World,
    delivered_until,
    evaluate,
    read_value,
    stage,
)
from projects import ROOT, SAMPLE
from quick import QuickProject, differences, found_rows, raw_rows, seed_rows
from random_worlds import random_world
from worlds import (
    FEEDS_WITH_LIMITS,
    IN_A_BATCH,
    MICROSECOND,
    NOW,
    batch,
    limited,
    moments_of,
)

from secure_datasets.engines.duckdb import DuckDB
from secure_datasets.engines.published import State
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.edits import Edits
from secure_datasets.questions.lookups import Lookups
from secure_datasets.questions.resolution import resolved

WORLDS = int(os.environ.get("WORLDS", "200"))
FIRST_SEED = 2500
# The moments at which one world is read: nothing but the clock moves.
READ_AT = (NOW, NOW - timedelta(days=100), NOW + MICROSECOND, datetime(2030, 1, 1))


@pytest.fixture(scope="session")
def kept():
    """The project, whose raw tables of rights declare their limits."""
    return kept_sample(feeds=FEEDS_WITH_LIMITS)


@pytest.fixture
def models(kept):
    """The compiled models of the project."""
    return kept.models


def read_at(models, moment: datetime) -> QuickProject:
    """Return the project as it is read at a moment."""
    return QuickProject(models, clock=f"timestamp '{moment}Z'")


@pytest.mark.parametrize("first", range(0, WORLDS, IN_A_BATCH))
def test_random_rights_hold_from_their_beginning_until_their_end(models, first):
    seeds = range(FIRST_SEED + first, FIRST_SEED + min(first + IN_A_BATCH, WORLDS))
    world = limited(batch(seeds), first)
    moment = READ_AT[first // IN_A_BATCH % len(READ_AT)]
    expected = evaluate(world, moment)
    wanted, always = wanted_rows(expected), wanted_rows(evaluate(world))
    same = [n for n, r in wanted.items() if comparable(r) == comparable(always[n])]
    assert not {n for n in same if n.startswith("vw_secure_")}, "limits limit nothing"
    found = differences(read_at(models, moment).run(world), expected, COMPARED)
    assert not found, f"at {moment}, the seeds {seeds}: {described(found)}"


def folder(package: str) -> Path:
    """Return the folder of a package of the project."""
    return ROOT if package == "secure_datasets" else ROOT / SAMPLE


def delivered(kept, world: World) -> tuple[State, DuckDB]:
    """Return the state of the project, and an engine that has the rows of a world."""
    engine = DuckDB(fingerprints=True)
    for table, relation in kept.raw.items():
        engine.put(relation, raw_rows(world, table))
    rows = seed_rows()
    for seed in kept.seeds:
        engine.put(seed.relation, rows.get(seed.name) or seed.rows)
    return State(Path("none"), b"", kept.state, None), engine


ACCESS = (
    "vw_secure_user_project_access",
    "vw_secure_user_data_source_access",
    "vw_secure_user_results_access",
)


def unlike(engine: DuckDB, expected, schema: str) -> dict[str, list]:
    """Return where access in a state differs from what the oracle expects."""
    wanted = {name: comparable(rows) for name, rows in wanted_rows(expected).items()}
    found = {name: found_rows(engine, name, schema) for name in ACCESS}
    return {
        name: [
            *map(values_of, (found[name] - wanted[name]) + (wanted[name] - found[name]))
        ]
        for name in ACCESS
        if found[name] != wanted[name]
    }


@pytest.mark.parametrize("seed", range(max(1, WORLDS // 20)))
def test_a_past_state_and_a_supposed_one_ask_their_own_moment(kept, seed):
    world, draw = random_world(seed), random.Random(seed)
    moments = moments_of(world)
    moment = draw.choice(moments)
    around = (moment, moment - MICROSECOND, moment + MICROSECOND)
    world = limited(world, seed, (*around, *draw.sample(moments, 2)))
    state, engine = delivered(kept, world)
    then = resolved(state, folder, engine, "past", as_of=str(moment))
    there = delivered_until(world, moment)
    assert not unlike(engine, evaluate(there, moment), "past")
    # Of what is supposed to go, the rest is in its time as before.
    key = "user_group_member_id"
    live = then["rows_of"](
        f"select {key} as id from past.stg_user_group_members where is_live order by 1"
    )
    if not live:
        return
    gone = draw.choice(live)["id"]
    edits = Edits(Lookups(then))
    edits.remove_row(f"row {gone} of user_group_members")
    resolved(then.state, folder, engine, "supposed", queries=edits.queries())
    members = [
        row
        for row in there["user_group_members"]
        if read_value("bigint", row["id"]) != gone
    ]
    expected = evaluate({**there, "user_group_members": members}, moment)
    assert not unlike(engine, expected, "supposed")


def row(table: str, **values: str) -> dict:
    """Return an active raw row without limits, but for what is said of it."""
    common = {"is_active": "true", "sf_date_created": "2026-01-01 00:00:00"}
    limits = dict.fromkeys(LIMITS) if table in GIVING_TABLES else {}
    return dict.fromkeys(TABLES[table]) | limits | common | {"id": "1"} | values


def two_hours() -> World:
    """Return a membership until noon, and a permission of the group from ten on."""
    rows = {
        "users": row("users", login_name="ann"),
        "user_groups": row("user_groups", name="staff"),
        "user_group_members": row(
            "user_group_members",
            user_id="1",
            user_group_id="1",
            valid_until="2026-06-01 12:00:00",
        ),
        "projects": row("projects", name="ledger"),
        "project_permissions": row(
            "project_permissions",
            project_id="1",
            user_group_id="1",
            valid_from="2026-06-01 10:00:00",
        ),
        "tests": row("tests", project_id="1", name="totals", test_type="Standard"),
    }
    return {table: [rows[table]] if table in rows else [] for table in TABLES}


def test_a_right_of_several_rows_holds_while_all_of_them_do(models):
    seen = {}
    for text in ("09:59:59.999999", "10:00:00", "11:59:59.999999", "12:00:00"):
        moment = datetime.fromisoformat(f"2026-06-01 {text}")
        engine = read_at(models, moment).run(two_hours())
        seen[text] = tuple(
            len(engine.ask(f"select user_id from secure_datasets.{name}"))
            for name in ("vw_secure_dataset_tests", "vw_secure_user_roles")
        )
    assert [*seen.values()] == [(0, 1), (1, 1), (1, 1), (0, 0)]


def asked_why(kept, moment: str) -> str:
    """Return what `why` says of Ann and the test, as of a moment."""
    state, engine = delivered(kept, two_hours())
    then = resolved(state, folder, engine, "past", as_of=moment)
    then["why"](user="ann", dataset="tests", row={"test_id": 1})
    return " ".join(" ".join(then.printed).split())


def test_why_tells_until_when_and_what_is_over(kept):
    held = asked_why(kept, "2026-06-01 11:00:00")
    assert "sees test_id=1" in held
    assert "until 2026-06-01 12:00:00 UTC" in held
    over = asked_why(kept, "2026-06-01 12:00:00")
    assert "does not see test_id=1" in over
    assert "outside its time, until 2026-06-01 12:00:00 UTC" in over
    before = asked_why(kept, "2026-06-01 09:00:00")
    assert "outside its time, from 2026-06-01 10:00:00 UTC" in before


def test_what_has_run_out_is_a_finding(models):
    over, still = datetime(2020, 1, 1), datetime(2999, 1, 1)
    world = limited(batch(range(3)), 0, (over, still))
    engine = QuickProject(models).run(world)
    found = engine.ask(
        "select subject from secure_datasets.access_findings"
        " where rule = 'grant-has-run-out'"
    )
    winners, now = stage(world).winners, datetime.now(timezone.utc).replace(tzinfo=None)
    expected = {
        f"{table} {key}"
        for table in GIVING_TABLES
        for key, said in winners[table].items()
        if said["is_active"] is True
        and said["valid_until"] is not None
        and said["valid_until"] <= now
    }
    assert expected
    assert {each["subject"] for each in found} == expected


@pytest.mark.parametrize(
    ("ask", "named"),
    [
        (lambda then: then["timeline"](user="ann"), "A timeline"),
        (
            lambda then: then["print_predicate"]("tests", dialect="postgres"),
            "A predicate for another engine",
        ),
        (
            lambda then: then["render_policies"]("tests", "postgres", "accounts"),
            "A policy of another engine",
        ),
    ],
)
def test_what_knows_no_time_refuses_it(kept, ask, named):
    state, engine = delivered(kept, two_hours())
    now = resolved(state, folder, engine, "past", as_of="2026-06-01 11:00:00")
    with pytest.raises(QuestionError, match=f"{named} can't tell of rights that begin"):
        ask(now)
