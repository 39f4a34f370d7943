"""Staging takes and rejects what the contract says, over random worlds in DuckDB.

The same is proven in Spark, whose own casts and trimming decide, by the worlds of
tests/dialect. This needs no Spark, and so tells within seconds what a change of
the ranking or of the judging has broken.
"""

from __future__ import annotations

import pytest
from oracle.contract import TABLES, stage
from staging_sandbox import Staged, rejected, used, wanted, wanted_rejected
from worlds import batch

WORLDS = range(900, 906)
REASONS = (
    *("unreadable id", "conflict", "unreadable is_active", "unreadable date_modified"),
    *("holder", "role", "context", "context key"),
)
# A rejected row has its id and what people look for; nothing that could grant.
TOLD_OF_REJECTED = ("rejection_reason", "raw_id", "raw_row", "sf_date_created")


@pytest.fixture(scope="module")
def world():
    return batch(WORLDS)


@pytest.fixture(scope="module")
def staging(world):
    """What the oracle makes of the world."""
    return stage(world)


@pytest.fixture(scope="module")
def staged(project, dbt, parsed, world):
    """What the compiled models make of it."""
    result = dbt(
        *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
        *("--no-write-json", "--indirect-selection", "empty"),
        *("--select", *(f"stg_{table}" for table in TABLES)),
        manifest=parsed,
    )
    assert result.success, result.exception
    return Staged({r.node.name: r.node.compiled_code for r in result.result}, world)


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_staged_as_the_contract_says(staged, staging, table):
    rows = staged.rows(table)
    assert rejected(rows) == wanted_rejected(table, staging)
    assert used(table, rows) == wanted(table, staging)
    told = {*TOLD_OF_REJECTED, f"{table[:-1]}_id"}
    for row in rows:
        if row["rejection_reason"]:
            assert row["raw_row"]
            assert not row["is_live"]
            assert not {column for column in row.keys() - told if row[column]}


def test_these_worlds_have_every_reason_and_ids_with_several_deliveries(world, staging):
    assert {reason for _, _, reason, _ in staging.rejected} >= set(REASONS)
    delivered = sum(map(len, world.values()))
    assert delivered > sum(map(len, staging.winners.values())) + len(staging.rejected)
