"""F11: a replica in types is staged as the same replica in texts.

Over random worlds, in which each column of each table has a random type that can hold
all that is delivered in it. What no type holds stays text.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from datetime import date, datetime
from random import Random

import pytest
from feed_sandbox import FeedSandbox
from oracle.contract import BIGINT, FLAG, TABLES, TIMESTAMP, UNREADABLE, read_value
from random_worlds import random_world

WORLDS = int(os.environ.get("TYPED_WORLDS", "60"))
AT_ONCE = 20
TYPES = {
    BIGINT: ("bigint", "decimal(38,0)", "decimal(38,10)", "double", "int", "smallint"),
    FLAG: ("boolean", "tinyint", "smallint", "int", "bigint"),
    TIMESTAMP: ("timestamptz", "timestamp", "date"),
}
LIMITS = {
    "int": 2**31,
    "smallint": 2**15,
    "tinyint": 2**7,
    "double": 2**53,
    "bigint": 2**63,
}


def holds(kind: str, value: object) -> bool:
    """Whether a type holds a value exactly."""
    if value is None:
        return True
    if kind == "date":
        return (value.hour, value.minute, value.second, value.microsecond) == (0,) * 4
    if isinstance(value, int) and not isinstance(value, bool):
        digits = 28 if kind == "decimal(38,10)" else 38
        return abs(value) < LIMITS.get(kind, 10**digits)
    return True


def typed(random: Random, table: str, rows: list) -> tuple[dict, list, list]:
    """Return a table's columns with types at random, and its rows in these and as text.

    In a type, two ways to write one value are one.
    """
    types, found, texts = {}, [dict(row) for row in rows], [dict(row) for row in rows]
    for column, kind in TABLES[table].items():
        types[column] = "varchar"
        values = [read_value(kind, row[column]) for row in rows]
        if UNREADABLE in values:
            continue
        able = [t for t in TYPES.get(kind, ()) if all(holds(t, v) for v in values)]
        if not able:
            continue
        types[column] = random.choice(able)
        for row, value in zip(texts, values, strict=True):
            row[column] = None if value is None else str(value).lower()
        for row, value in zip(found, values, strict=True):
            is_number = types[column] not in ("boolean", "varchar")
            row[column] = int(value) if isinstance(value, bool) and is_number else value
    return types, found, texts


def readable(world: dict) -> dict:
    """Return a world without the texts that can't be read, but for some tables.

    Few columns of a random world can be read in every row.
    """
    found = {}
    for number, (table, rows) in enumerate(world.items()):
        columns = TABLES[table].items()
        found[table] = [
            row
            for row in rows
            if number % 4 == 0
            or UNREADABLE not in [read_value(kind, row[name]) for name, kind in columns]
        ]
    return found


def worlds(first: int) -> dict:
    """Return some random worlds in one: of all, no id is another's by chance alone."""
    random = Random(first)
    found: dict[str, list] = {table: [] for table in TABLES}
    for seed in range(first, first + AT_ONCE):
        for table, rows in random_world(seed).items():
            found[table] += random.sample(rows, min(len(rows), 8))
    return readable(found)


def comparable(table: str, staged: list[dict]) -> Counter:
    """Return staged rows in a form that does not tell how a value was written."""
    written = ("raw_id", "raw_row")
    return Counter(
        tuple(str(value) for name, value in row.items() if name not in written)
        for row in staged
    )


@pytest.mark.parametrize("first", range(5000, 5000 + WORLDS, AT_ONCE))
def test_f11_types_change_no_row_no_reject_and_no_reason(first):
    world, random, seen = worlds(first), Random(first), Counter()
    sandbox = FeedSandbox()
    for table, rows in world.items():
        types, in_types, in_texts = typed(random, table, rows)
        sandbox.deliver(table, dict.fromkeys(TABLES[table], "varchar"), in_texts)
        wanted = sandbox.staged(table)
        sandbox.deliver(table, types, in_types)
        found = sandbox.staged(table)
        assert comparable(table, found) == comparable(table, wanted), types
        seen.update(types.values())
        for row in found:
            if row["rejection_reason"] and row["rejection_reason"] != "unreadable id":
                assert json.loads(row["raw_row"])["id"] is not None
    assert seen["varchar"] < sum(seen.values()), "nothing was typed"


EXACT = {
    "a decimal with a fraction": ("decimal(38,10)", 7.5, None),
    "a decimal with zeros": ("decimal(38,10)", 7, 7),
    "a double with a fraction": ("double", 7.5, None),
    "a double without one": ("double", 7.0, 7),
    "a double that holds no number exactly": ("double", float(2**53), None),
    "no number": ("double", float("nan"), None),
    "infinity": ("double", float("inf"), None),
    "a decimal beyond 64 bits": ("decimal(38,0)", 2**63, None),
}


@pytest.mark.parametrize(("kind", "value", "sequence"), EXACT.values(), ids=EXACT)
def test_f11_what_a_type_can_t_hold_exactly_is_rejected(kind, value, sequence):
    sandbox = FeedSandbox()
    row = dict.fromkeys(TABLES["meta_columns"])
    row |= {"id": "1", "meta_table_id": "2", "is_active": "true", "sequence": value}
    types = dict.fromkeys(TABLES["meta_columns"], "varchar") | {"sequence": kind}
    sandbox.deliver("meta_columns", types, [row])
    (staged,) = sandbox.staged("meta_columns")
    assert staged["sequence"] == sequence
    reason = None if sequence is not None else "unreadable sequence"
    assert staged["rejection_reason"] == reason


@pytest.mark.parametrize("kind", ["tinyint", "int", "bigint", "decimal(1,0)"])
@pytest.mark.parametrize(
    ("flag", "reason"), [(1, None), (0, None), (2, "unreadable is_active")]
)
def test_f11_a_flag_is_0_or_1(kind, flag, reason):
    sandbox = FeedSandbox()
    row = dict.fromkeys(TABLES["jobs"]) | {
        "id": "1",
        "project_id": "2",
        "is_active": flag,
    }
    types = dict.fromkeys(TABLES["jobs"], "varchar") | {"is_active": kind}
    sandbox.deliver("jobs", types, [row])
    (staged,) = sandbox.staged("jobs")
    assert (staged["rejection_reason"], staged["is_live"]) == (reason, flag == 1)


def test_f11_a_typed_column_takes_no_way_over_text():
    sandbox = FeedSandbox()
    types = {
        c: {BIGINT: "bigint", FLAG: "boolean", TIMESTAMP: "timestamptz"}.get(
            k, "varchar"
        )
        for c, k in TABLES["jobs"].items()
    }
    sandbox.deliver("jobs", types, [])
    sql = sandbox.sql("jobs").partition("judged as")[0]
    for column, kind in TABLES["jobs"].items():
        is_text = kind not in (BIGINT, FLAG, TIMESTAMP)
        assert (f"btrim(delivery.{column}," in sql) is is_text
    assert "to_csv" not in sql
    assert "rlike" not in sql


# Minutes from 36 on are more microseconds than an int holds, and days from 2038 on more
# seconds.
MINUTES = [datetime(2026, 8, 22, 14, minute, 48, 123456) for minute in range(60)]
DAYS = [date(1901, 12, 1), date(1970, 1, 1), date(2038, 1, 20), date(2999, 12, 31)]


def test_f11_each_minute_and_day_is_read_as_it_stands():
    sandbox = FeedSandbox()
    types = dict.fromkeys(TABLES["users"], "varchar")
    types |= {"id": "bigint", "date_created": "timestamp", "date_modified": "date"}
    rows = [
        {"id": number, "date_created": moment, "date_modified": DAYS[number % 4]}
        for number, moment in enumerate(MINUTES)
    ]
    sandbox.deliver("users", types, rows)
    found = {row["user_id"]: row for row in sandbox.staged("users")}
    assert [found[number]["date_created"] for number in range(60)] == MINUTES
    assert [str(found[number]["date_modified"]) for number in range(60)] == [
        f"{DAYS[number % 4]} 00:00:00" for number in range(60)
    ]
