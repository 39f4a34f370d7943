"""F8: the same life of an application, delivered in each kind, gives the same rows.

Now, and in each kind that has a history as of every day; over random lives, in DuckDB.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise

import pytest
from feed_sandbox import FeedSandbox
from oracle.contract import (
    BIGINT,
    FLAG,
    TABLES,
    TIMESTAMP,
    UNREADABLE,
    access_state,
    read_value,
)
from random_lives import DAYS, KINDS, TABLES_OF_LIVES, Tellers, day, random_life

from dbt_secure_spark.moments import micros_of
from secure_datasets.engines.translation import translated

LIVES = int(os.environ.get("RANDOM_LIVES", "300"))
# What a kind tells as it can: the clock of the row itself, and of the feed.
NOT_COMPARED = ("id", "date_modified", "sf_date_created", "is_active")


@pytest.fixture(scope="module")
def lives():
    return [random_life(seed) for seed in range(1, LIVES + 1)]


@pytest.fixture(scope="module")
def states(lives):
    """What the lives are at the end of each day, read: by table and id."""
    tellers = Tellers(lives, 0)
    return [
        {
            table: {key: read(table, values) for key, values in rows.items()}
            for table, rows in tellers.states(number).items()
        }
        for number in range(DAYS)
    ]


def read(table: str, values: dict) -> dict:
    """Return what a row says, with whether it is live."""
    found = {
        column: read_value(kind, values.get(column))
        for column, kind in TABLES[table].items()
        if column not in NOT_COMPARED
    }
    assert UNREADABLE not in found.values()
    return found | {"is_live": values["is_active"] == "true"}


def there(table: str, staged: list[dict]) -> dict:
    """Return the staged rows that are there, in the same form."""
    assert {row["rejection_reason"] for row in staged} <= {None}
    columns = [column for column in TABLES[table] if column not in NOT_COMPARED]
    return {
        row[f"{table[:-1]}_id"]: {c: row[c] for c in [*columns, "is_live"]}
        for row in staged
        if not row["is_deleted"]
    }


TYPES = {BIGINT: "bigint", FLAG: "boolean", TIMESTAMP: "timestamptz"}
# What feeds say in moments, each with its zone where it is written as text.
MOMENTS = dict.fromkeys(("at", "since", "until"), "timestamptz")


def delivered(told, table: str, is_typed: bool) -> FeedSandbox:
    """Return a raw table of a kind, as texts or in types."""
    sandbox = FeedSandbox()
    types = dict.fromkeys(TABLES[table], "varchar") | told.columns
    rows = told.rows[table]
    if is_typed:
        kinds = {c: kind for c, kind in TABLES[table].items() if kind in TYPES}
        types |= {column: TYPES[kind] for column, kind in kinds.items()}
        types |= {c: kind for c, kind in MOMENTS.items() if c in types}
        rows = [
            row | {c: read_value(k, row[c]) for c, k in kinds.items() if c in row}
            for row in rows
        ]
    sandbox.deliver(table, types, rows)
    return sandbox


@pytest.mark.parametrize("kind", KINDS)
def test_f8_a_kind_tells_what_every_other_kind_tells(lives, states, kind):
    told = getattr(Tellers(lives, 7), kind)()
    for place, table in enumerate(TABLES_OF_LIVES, KINDS.index(kind)):
        # Half of the tables come in types, of each kind others.
        sandbox = delivered(told, table, is_typed=place % 2 == 0)
        sandbox.declare({table: told.feed})
        assert there(table, sandbox.staged(table)) == states[-1][table]
        # The command reads the past of each kind without Spark.
        assert translated(sandbox.sql(table)).sql
        for number in range(DAYS) if told.has_history else ():
            sandbox.declare({table: told.feed}, as_of=str(day(number)))
            staged = sandbox.staged(table)
            assert there(table, staged) == states[number][table]
            for row in staged:
                if row["is_deleted"]:
                    assert row["deleted_on"] <= day(number)


@pytest.mark.parametrize("kind", ["current", "current_with_flags"])
def test_f8_the_snapshots_of_a_present_tell_what_every_kind_tells(lives, states, kind):
    sandbox = FeedSandbox()
    moments = [micros_of(day(number)) for number in range(DAYS)]
    for number, moment in enumerate(moments):
        until = [
            {
                table: {key: course[: number + 1] for key, course in rows.items()}
                for table, rows in life.items()
            }
            for life in lives
        ]
        told = getattr(Tellers(until, 7), kind)()
        for table in TABLES_OF_LIVES:
            types = dict.fromkeys(TABLES[table], "varchar") | told.columns
            sandbox.deliver(table, types, told.rows[table])
            sandbox.keep(table, moment)
    for table in TABLES_OF_LIVES:
        sandbox.declare({table: told.feed})
        history = sandbox.history(table)
        assert {row["since"] for row in history} <= {*moments}
        for row in history:
            if row["is_deleted"]:
                assert row["deleted_on"] == day(moments.index(row["since"]))
        for number, moment in enumerate(moments):
            of_then: dict[int, dict] = {}
            for row in sorted(history, key=lambda row: row["since"]):
                if row["since"] <= moment:
                    of_then[row[f"{table[:-1]}_id"]] = row
            assert there(table, [*of_then.values()]) == states[number][table]


def test_f8_the_lives_come_change_go_and_return(lives):
    seen = Counter()
    for life in lives:
        for rows in life.values():
            for course in rows.values():
                present = [values is not None for values in course]
                steps = list(pairwise(present))
                seen["goes"] += (True, False) in steps
                seen["returns"] += (True, False) in steps and (False, True) in steps
                seen["stays away"] += not present[-1] and any(present)
                seen["changes"] += any(a and b and a != b for a, b in pairwise(course))
    assert min(seen.values()) > LIVES / 10, seen


def test_f8_the_lives_give_access_that_ends(states):
    """Access follows from staged rows alone, so that of all kinds is the same."""

    def access(state: dict) -> set:
        world = {table: [] for table in TABLES}
        for table, rows in state.items():
            for key, row in rows.items():
                raw = {
                    c: None if row.get(c) is None else str(row[c])
                    for c in TABLES[table]
                }
                raw |= {"id": str(key), "is_active": str(row["is_live"]).lower()}
                world[table].append(raw)
                for column in ("meta_data_source_id", "project_id"):
                    if raw.get(column):
                        named = {
                            "meta_data_source_id": "meta_data_sources",
                            "project_id": "projects",
                        }
                        world[named[column]].append(
                            dict.fromkeys(TABLES[named[column]])
                            | {"id": raw[column], "is_active": "true"}
                        )
        return set(access_state(world))

    some = [
        {t: {k: r for k, r in rows.items() if k < 40_000} for t, rows in state.items()}
        for state in (states[2], states[-1])
    ]
    before, after = map(access, some)
    assert before - after
    assert after - before
