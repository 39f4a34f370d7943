"""Spark stages the feeds of loaders and of random lives as the quick engine does."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime
from itertools import product
from operator import itemgetter

import pytest
from feed_sandbox import RAW, ROLES, SPARK, FeedSandbox
from lanes import nightly_but
from loader_tables import LOADERS, hour
from oracle.contract import ROLE_PERMISSIONS, TABLES
from pipeline import session_settings
from random_lives import KINDS, Tellers, day, random_life

pytestmark = pytest.mark.spark

# Python reads a moment in its own zone, whatever the session has.
ZONES = [("UTC", "false"), ("America/St_Johns", "true")]
WEST = ZONES[1]
MEMBERS = "user_group_members"


def text_of(value: object) -> str | None:
    """Return a value as a text that casts to its type."""
    if isinstance(value, bool):
        return str(value).lower()
    return None if value is None else str(value)


def stage(spark, sandbox: FeedSandbox, table: str, types: dict, rows: list) -> list:
    """Return what Spark stages of a raw table."""
    texts = [[text_of(row.get(column)) for column in types] for row in rows]
    names = ", ".join(f"c{number} string" for number in range(len(types)))
    columns = [
        f"cast(c{number} as {SPARK.get(kind, kind)}) as `{column}`"
        for number, (column, kind) in enumerate(types.items())
    ]
    frame = spark.createDataFrame(texts, names).selectExpr(*columns)
    frame.createOrReplaceTempView("raw_feed")
    roles = [(kind, role) for kind, named in ROLE_PERMISSIONS.items() for role in named]
    frame = spark.createDataFrame(roles, "object_type string, role_name string")
    frame.createOrReplaceTempView("roles_of_feeds")
    sql = sandbox.sql(table).replace(ROLES, "roles_of_feeds")
    found = spark.sql(sql.replace(f"{RAW}.{table}", "raw_feed")).collect()
    return in_order(table, [row.asDict() for row in found])


def in_order(table: str, rows: list[dict]) -> list[dict]:
    """Return staged rows by their ids, without what two engines write differently."""
    rows = sorted(rows, key=lambda row: row[f"{table[:-1]}_id"])
    return [
        {name: str(value) for name, value in row.items() if name != "raw_row"}
        for row in rows
    ]


def in_zones(given: Iterable[str]) -> list:
    """Return each of the given in each zone; UTC, where less can go wrong, at night."""
    kept = [(each, *WEST) for each in given]
    return nightly_but(kept, [(each, *zone) for each, zone in product(given, ZONES)])


@pytest.mark.parametrize(("name", "zone", "ansi"), in_zones(LOADERS))
def test_f10_a_loader_s_table_is_staged_so_in_spark(spark, name, zone, ansi):
    loader = LOADERS[name]()
    sandbox = FeedSandbox({"users": loader.feed})
    sandbox.deliver("users", loader.types, loader.rows)
    wanted = in_order("users", sandbox.staged("users"))
    # A moment of a loader is in UTC whatever the session's zone.
    with session_settings(spark, zone, ansi):
        assert stage(spark, sandbox, "users", loader.types, loader.rows) == wanted


@pytest.mark.parametrize(("zone", "ansi"), nightly_but([WEST], ZONES))
def test_f3_a_row_that_came_back_to_a_snapshot_is_staged_so_in_spark(spark, zone, ansi):
    loader = LOADERS["dbt_snapshot"]()
    versions = [(2, 5, False), (5, 1, True), (1, None, False)]
    rows = [
        {"id": 1, "is_active": True, "dbt_is_deleted": str(gone)}
        | {"dbt_valid_from": hour(start), "dbt_valid_to": end and hour(end)}
        for start, end, gone in versions
    ]
    sandbox = FeedSandbox({"users": loader.feed})
    sandbox.deliver("users", loader.types, rows)
    wanted = in_order("users", sandbox.staged("users"))
    assert [row["is_live"] for row in wanted] == ["True"]
    with session_settings(spark, zone, ansi):
        assert stage(spark, sandbox, "users", loader.types, rows) == wanted


@pytest.mark.parametrize(
    ("kind", "zone", "ansi"), in_zones(["date", "timestamp", "timestamptz"])
)
def test_f11_a_typed_time_is_read_by_its_type_in_spark(spark, kind, zone, ansi):
    types = dict.fromkeys(TABLES[MEMBERS], "varchar") | {"date_created": kind}
    zoned = "2026-03-02 00:00:00" + "+00" * (kind == "timestamptz")
    rows = [{"id": "1", "user_group_id": "5", "user_id": "8", "date_created": zoned}]
    sandbox = FeedSandbox({MEMBERS: {"reads": {"timestamps": "epoch_millis"}}})
    sandbox.deliver(MEMBERS, types, rows)
    wanted = in_order(MEMBERS, sandbox.staged(MEMBERS))
    assert wanted[0]["date_created"] == "2026-03-02 00:00:00"
    with session_settings(spark, zone, ansi):
        assert stage(spark, sandbox, MEMBERS, types, rows) == wanted


@pytest.mark.parametrize("kind", KINDS)
def test_f8_a_kind_is_staged_so_in_spark(spark, kind):
    lives = [random_life(seed) for seed in range(1, 26)]
    told_of_lives = getattr(Tellers(lives, 7), kind)()
    as_of = {"as_of": str(day(3))} if told_of_lives.has_history else {}
    sandbox = FeedSandbox({MEMBERS: told_of_lives.feed}, **as_of)
    types = dict.fromkeys(TABLES[MEMBERS], "varchar") | told_of_lives.columns
    rows = told_of_lives.rows[MEMBERS]
    sandbox.deliver(MEMBERS, types, rows)
    wanted = in_order(MEMBERS, sandbox.staged(MEMBERS))
    with session_settings(spark, "UTC", "true"):
        assert stage(spark, sandbox, MEMBERS, types, rows) == wanted


# What stands for a moment, a position and a flag, and types in which each comes.
ODD = [
    *(" 1772409600000\u00a0", "1772409600000.5", "253402300799999", "253402300800000"),
    *("1.7724096E12", "soon", "", None),
]
WHOLE = [1772409600000, 253402300799999, 0, 1, 7, None]


NUMBERS = {
    "varchar": ODD,
    **dict.fromkeys(("double", "decimal(25,3)", "decimal(38,10)", "bigint"), WHOLE),
}
READS = [{}, {True: ["Y"]}]


# Spark plans each of these queries for seconds.
@pytest.mark.parametrize(
    ("kind", "reads", "zone", "ansi"),
    nightly_but(
        [
            ("varchar", READS[1], *WEST),
            ("double", READS[0], *ZONES[0]),
            ("decimal(38,10)", READS[1], "UTC", "true"),
        ],
        [
            (kind, reads, *zone)
            for kind, reads, zone in product(NUMBERS, READS, [*ZONES, ("UTC", "true")])
        ],
    ),
)
def test_f11_numbers_are_read_so_in_spark(spark, kind, reads, zone, ansi):
    feed = {"kind": "log", "moment": ["at", "pos"], "moment_in": "epoch_millis"}
    feed |= {"deleted_when": "gone", "reads": reads | {"timestamps": "epoch_millis"}}
    types = dict.fromkeys(TABLES[MEMBERS], "varchar") | {"date_created": kind}
    types |= dict.fromkeys(("at", "pos", "gone"), kind)
    row = {"user_group_id": "5", "user_id": "8", "is_active": "true"}
    rows = [
        row
        | {"id": f"{number}", "date_created": at, "at": at, "pos": pos, "gone": gone}
        for number, (at, pos, gone) in enumerate(product(NUMBERS[kind], repeat=3))
    ]
    sandbox = FeedSandbox({MEMBERS: feed})
    # DuckDB makes another decimal of a long double, and the quick engine reads none.
    exact = {c: "decimal(38,10)" if t == "double" else t for c, t in types.items()}
    sandbox.deliver(MEMBERS, exact, rows)
    wanted = in_order(MEMBERS, sandbox.staged(MEMBERS))
    with session_settings(spark, zone, ansi):
        assert stage(spark, sandbox, MEMBERS, types, rows) == wanted


ENDS = {
    "timestamp": [
        *("9999-12-31T23:59:59-05:00", "9999-12-31 23:59:59", "\u00a0infinity", "9999"),
        *("9999-02-30 00:00:00", "2026-03-02T00:00:00Z ", "2026-03-02 05:00:00+05:00"),
        *("9999-01-01 00:00:00", "9998-12-31 23:59:59", "soon", "", None),
    ],
    "epoch_millis": ["253402300799999", "9223372036825200000", "1772409600000 ", None],
}


# Spark plans the query of epochs for most of a minute.
@pytest.mark.parametrize(
    ("written", "zone", "ansi"),
    nightly_but(
        [("timestamp", "Pacific/Kiritimati", "true")],
        [
            (written, *zone)
            for written, zone in product(ENDS, [*ZONES, ("Pacific/Kiritimati", "true")])
        ],
    ),
)
def test_a_period_ends_so_in_spark(spark, written, zone, ansi):
    feed = {"kind": "periods", "valid_from": "a", "valid_to": "b", "moment_in": written}
    types = dict.fromkeys([*TABLES[MEMBERS], "a", "b"], "varchar")
    row = {"user_group_id": "5", "user_id": "8", "is_active": "true", "a": "1"}
    rows = [row | {"id": f"{n}", "b": b} for n, b in enumerate(ENDS[written])]
    sandbox = FeedSandbox({MEMBERS: feed})
    sandbox.deliver(MEMBERS, types, rows)
    with session_settings(spark, zone, ansi):
        found = stage(spark, sandbox, MEMBERS, types, rows)
    assert found == in_order(MEMBERS, sandbox.staged(MEMBERS))


def test_moments_that_can_t_be_read_are_counted_so_in_spark(spark):
    feed = {"kind": "periods", "valid_from": "a", "valid_to": "b"}
    log = {"kind": "log", "moment": ["a", "b"], "deleted_when": "gone"}
    ends = ENDS["timestamp"]
    rows = [{"id": f"{n}", "a": each, "b": each} for n, each in enumerate(ends)]
    types = dict.fromkeys([*TABLES[MEMBERS], "a", "b", "gone"], "varchar")
    for declared in (feed, log):
        sandbox = FeedSandbox({MEMBERS: declared}, access_stale_error_hours=24)
        sandbox.deliver(MEMBERS, types, rows)
        raw, (sql,) = f"{RAW}.{MEMBERS}", sandbox.macros.unread_deliveries(MEMBERS)
        values = [[row.get(column) for column in types] for row in rows]
        schema = ", ".join(f"{column} string" for column in types)
        spark.createDataFrame(values, schema).createOrReplaceTempView("raw_feed")
        with session_settings(spark, "Pacific/Kiritimati", "true"):
            found = spark.sql(sql.replace(raw, "raw_feed")).collect()
        wanted = sandbox.query(sql)
        assert len(wanted) == 2
        by_column = itemgetter("column_name")
        found = sorted((row.asDict() for row in found), key=by_column)
        assert found == sorted(wanted, key=by_column)


# Minutes from 36 on are more microseconds than an int holds, and days from 2038 on more
# seconds.
MINUTES = [datetime(2026, 8, 22, 14, minute, 48, 123456) for minute in range(60)]
DAYS = [date(1901, 12, 1), date(1970, 1, 1), date(2038, 1, 20), date(2999, 12, 31)]


@pytest.mark.parametrize(("zone", "ansi"), [*ZONES, ("UTC", "true")])
def test_f11_times_without_a_zone_and_days_are_read_as_they_stand(spark, zone, ansi):
    types = {"id": "bigint", "date_created": "timestamp", "date_modified": "date"}
    types |= dict.fromkeys(TABLES["users"].keys() - types.keys(), "varchar")
    rows = [
        {"id": number, "date_created": moment, "date_modified": DAYS[number % 4]}
        for number, moment in enumerate(MINUTES)
    ]
    sandbox = FeedSandbox()
    sandbox.deliver("users", types, rows)
    with session_settings(spark, zone, ansi):
        found = stage(spark, sandbox, "users", types, rows)
    assert found == in_order("users", sandbox.staged("users"))
    assert [row["date_created"] for row in found] == [str(m) for m in MINUTES]
    read = [row["date_modified"] for row in found]
    assert read == [f"{DAYS[number % 4]} 00:00:00" for number in range(60)]
