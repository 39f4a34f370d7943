"""Spark stages the feeds of loaders and of random lives as the quick engine does."""

from __future__ import annotations

import pytest
from feed_sandbox import RAW, FeedSandbox
from loader_tables import LOADERS
from oracle.contract import TABLES
from pipeline import session_settings
from random_lives import KINDS, Tellers, day, random_life

pytestmark = pytest.mark.spark

ZONES = [("UTC", "false"), ("America/St_Johns", "true")]
SPARK = {"varchar": "string", "timestamptz": "timestamp", "timestamp": "timestamp_ntz"}
MEMBERS = "user_group_members"


def stage(
    spark, sandbox: FeedSandbox, table: str, types: dict, rows: list
) -> list[dict]:
    """Return what Spark stages of a raw table."""
    named = [f"c{number} {'string'}" for number in range(len(types))]
    texts = [
        [
            None
            if row.get(c) is None
            else str(row[c]).lower()
            if isinstance(row[c], bool)
            else str(row[c])
            for c in types
        ]
        for row in rows
    ]
    frame = spark.createDataFrame(texts, ", ".join(named))
    # A moment of a loader is in UTC whatever the session's zone.
    columns = [
        f"cast(c{n} as {SPARK.get(kind, kind)}) as `{column}`"
        for n, (column, kind) in enumerate(types.items())
    ]
    frame.selectExpr(*columns).createOrReplaceTempView("raw_feed")
    found = spark.sql(sandbox.sql(table).replace(f"{RAW}.{table}", "raw_feed"))
    key = f"{table[:-1]}_id"
    return sorted((row.asDict() for row in found.collect()), key=lambda row: row[key])


def told(rows: list[dict]) -> list[dict]:
    """Return staged rows without what is not the same in two engines."""
    return [
        {
            name: str(value)
            for name, value in row.items()
            if name not in ("raw_row", "id")
        }
        for row in rows
    ]


@pytest.fixture(scope="module", autouse=True)
def _roles(spark):
    """Give staging its roles under the name that the quick engine has for them."""
    spark.sql("create schema if not exists secure_datasets")
    from oracle.contract import ROLE_PERMISSIONS

    values = [
        (kind, role) for kind, named in ROLE_PERMISSIONS.items() for role in named
    ]
    spark.createDataFrame(
        values, "object_type string, role_name string"
    ).createOrReplaceTempView("role_permissions_of_feeds")


@pytest.mark.parametrize(("zone", "ansi"), ZONES)
@pytest.mark.parametrize("name", LOADERS)
def test_f10_a_loader_s_table_is_staged_so_in_spark(spark, name, zone, ansi):
    loader = LOADERS[name]()
    sandbox = FeedSandbox({"users": loader.feed})
    sandbox.deliver("users", loader.types, loader.rows)
    wanted = sorted(sandbox.staged("users"), key=lambda row: row["user_id"])
    with session_settings(spark, zone, ansi):
        found = stage(spark, sandbox, "users", loader.types, loader.rows)
    with session_settings(spark, "UTC", ansi):
        assert told(found) == told(wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_f8_a_kind_is_staged_so_in_spark(spark, kind):
    lives = [random_life(seed) for seed in range(1, 26)]
    told_of_lives = getattr(Tellers(lives, 7), kind)()
    as_of = {"as_of": str(day(3))} if told_of_lives.has_history else {}
    sandbox = FeedSandbox({MEMBERS: told_of_lives.feed}, **as_of)
    types = dict.fromkeys(TABLES[MEMBERS], "varchar") | told_of_lives.columns
    rows = told_of_lives.rows[MEMBERS]
    sandbox.deliver(MEMBERS, types, rows)
    key = "user_group_member_id"
    wanted = sorted(sandbox.staged(MEMBERS), key=lambda row: row[key])
    with session_settings(spark, "UTC", "true"):
        assert told(stage(spark, sandbox, MEMBERS, types, rows)) == told(wanted)
