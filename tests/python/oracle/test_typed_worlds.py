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
from oracle.contract import BIGINT, FLAG, TABLES, TIMESTAMP
from typed_worlds import AT_ONCE, comparable, typed, worlds

WORLDS = int(os.environ.get("TYPED_WORLDS", "60"))


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
