"""How a raw table is loaded, and what a deletion is: the law, line by line.

The product's own staging SQL runs in DuckDB, over raw tables that have the columns and
the types of their loaders.
"""

from __future__ import annotations

from datetime import datetime
from types import SimpleNamespace

import pytest
import yaml
from feed_sandbox import RAW, FeedSandbox
from oracle.contract import TABLES
from projects import ROOT
from rendering import Stopped

MEMBERS = "user_group_members"
KEY = "user_group_member_id"
TEXTS = dict.fromkeys(TABLES[MEMBERS], "varchar")
LOG = {"kind": "log", "moment": "at", "deleted_when": "op = 'd'"}
WITH_POSITION = LOG | {"moment": ["at", "pos"]}
CHANGES = TEXTS | {"op": "varchar", "at": "varchar", "pos": "varchar"}


def day(number: int) -> str:
    """Return a day of a month as the contract writes times."""
    return f"2026-03-{number:02} 00:00:00"


def at(number: int) -> datetime:
    """Return the same day as a moment."""
    return datetime(2026, 3, number)


def member(op: str | None, moment: str | None, **more: str | None) -> dict:
    """Return a delivery of a change log with the whole row."""
    row = {"id": "1", "user_group_id": "5", "user_id": "8", "is_active": "true"}
    return row | {"date_modified": day(1), "op": op, "at": moment} | more


def gone(moment: str | None, **more: str | None) -> dict:
    """Return the deletion of a change log that has the key alone."""
    return {"id": "1", "op": "d", "at": moment} | more


def staged(feed: dict, rows: list[dict], types: dict = CHANGES, **variables) -> list:
    """Return the staged memberships of a feed."""
    sandbox = FeedSandbox({MEMBERS: feed}, **variables)
    sandbox.deliver(MEMBERS, types, rows)
    return sandbox.staged(MEMBERS)


def one(feed: dict, rows: list[dict], types: dict = CHANGES, **variables) -> dict:
    """Return the one staged membership of a feed."""
    (row,) = staged(feed, rows, types, **variables)
    return row


# F1


def test_f1_a_deletion_needs_its_id_and_nothing_else():
    row = one(LOG, [member("c", day(1)), gone(day(2))])
    assert row == {
        **dict.fromkeys(row),
        KEY: 1,
        "is_live": False,
        "is_deleted": True,
        "deleted_on": at(2),
        "sf_date_created": at(2),
    }


def test_f1_a_deletion_is_no_rejection_whatever_its_columns_hold():
    broken = {"user_id": "eight", "is_active": "perhaps", "date_created": "soon"}
    row = one(LOG, [member("c", day(1)), gone(day(2), **broken)])
    assert (row["rejection_reason"], row["is_deleted"]) == (None, True)
    assert row["user_id"] is None, "what it named is nothing to read"


def test_f1_a_deletion_without_an_id_that_can_be_read_is_rejected():
    rows = staged(LOG, [member("c", day(1)), gone(day(2), id="x")])
    assert {row["rejection_reason"]: row["is_live"] for row in rows} == {
        None: True,
        "unreadable id": False,
    }


TESTS = dict.fromkeys(TABLES["tests"], "varchar")
TEST = {"id": "1", "project_id": "5", "name": "No orphans", "is_active": "true"}
KEPT = TEST | {"id": "2", "sf_date_created": day(2)}
DELETED = {
    "log, the key alone": (LOG, [TEST | {"op": "c", "at": day(1)}, gone(day(2))]),
    "log, the whole row": (LOG, [TEST | {"op": "d", "at": day(2)}]),
    "appended": ({"deleted_when": "op = 'd'"}, [TEST | {"op": "d"}]),
    "current": ({"kind": "current", "deleted_when": "op = 'd'"}, [TEST | {"op": "d"}]),
    "periods": (
        {"kind": "periods", "valid_from": "at", "valid_to": "pos"},
        [TEST | {"at": day(1), "pos": day(2)}],
    ),
    "snapshots": (
        {"kind": "snapshots", "moment": "sf_date_created"},
        [TEST | {"sf_date_created": day(1)}, KEPT],
    ),
}


@pytest.mark.parametrize(("feed", "rows"), DELETED.values(), ids=DELETED)
def test_f1_f8_what_a_deleted_test_named_is_null_in_each_kind(feed, rows):
    """So its executions have no project: `current` without a mark has nothing left."""
    sandbox = FeedSandbox({"tests": feed})
    sandbox.deliver("tests", TESTS | CHANGES, rows)
    (row,) = (row for row in sandbox.staged("tests") if row["test_id"] == 1)
    assert (row["is_deleted"], row["is_live"]) == (True, False)
    assert (row["project_id"], row["name"]) == (None, None)


@pytest.mark.parametrize("flag", [None, "", "maybe", "yes", "true", "1"])
def test_an_unreadable_deletion_mark_counts_as_deleted(flag):
    feed = {"kind": "current", "deleted_when": "gone"}
    row = one(feed, [member(None, None, gone=flag)], TEXTS | {"gone": "varchar"})
    assert row["is_deleted"]


@pytest.mark.parametrize("reads", [{}, {True: ["Y"]}])
@pytest.mark.parametrize("flag", ["false", "0", " FALSE "])
def test_a_flag_that_says_no_deletes_nothing(flag, reads):
    feed = {"kind": "current", "deleted_when": "gone", "reads": reads}
    row = one(feed, [member(None, None, gone=flag)], TEXTS | {"gone": "varchar"})
    assert row["is_live"]


@pytest.mark.parametrize(
    ("flag", "is_live"), [("true", True), ("x", False), (None, False)]
)
def test_not_a_flag_that_can_t_be_read_is_deleted_too(flag, is_live):
    feed = {"kind": "current", "deleted_when": "not there"}
    row = one(feed, [member(None, None, there=flag)], TEXTS | {"there": "varchar"})
    assert row["is_live"] is is_live


def test_a_null_of_an_expression_counts_as_deleted():
    assert one(LOG, [member(None, day(1))])["is_deleted"]


# F2


def test_f2_an_older_delivery_whose_clock_is_ahead_does_not_outlive_a_deletion():
    ahead = "2099-01-01 00:00:00"
    row = one(LOG, [member("u", day(1), date_modified=ahead), gone(day(2))])
    assert row["is_deleted"]
    row = one(
        LOG, [member("u", day(3), date_modified="1999-01-01 00:00:00"), gone(day(2))]
    )
    assert row["is_live"]


def test_f2_of_one_moment_the_deletion_wins_without_a_position():
    assert one(LOG, [gone(day(2)), member("c", day(2))])["is_deleted"]
    assert one(LOG, [member("c", day(2)), gone(day(2))])["is_deleted"]


def test_f2_the_position_orders_what_has_one_moment():
    rows = [gone(day(2), pos="9"), member("c", day(2), pos="10")]
    assert one(WITH_POSITION, rows)["is_live"], "as numbers, not as texts"
    rows = [member("c", day(2), pos="9"), gone(day(2), pos="10")]
    assert one(WITH_POSITION, rows)["is_deleted"]


def test_f2_a_position_alone_orders_a_log():
    feed = LOG | {"moment": "pos", "moment_in": "position"}
    rows = [
        member("c", None, pos="1"),
        gone(None, pos="2"),
        member("c", None, pos="11"),
    ]
    assert one(feed, rows)["is_live"]
    assert one(feed, rows[:2])["is_deleted"]


@pytest.mark.parametrize("moment", [None, "", "soon", "2026-02-30 00:00:00"])
def test_a_moment_that_can_t_be_read_is_latest_for_a_deletion_and_earliest_else(moment):
    assert one(LOG, [member("c", day(9)), gone(moment)])["is_deleted"]
    assert one(LOG, [member("c", moment), gone(day(1))])["is_deleted"]
    row = one(LOG, [member("u", moment, is_active="false"), member("c", day(9))])
    assert not row["is_live"], "nor does it hide a row that is switched off"


@pytest.mark.parametrize("position", [None, "", "soon"])
def test_a_position_that_can_t_be_read_is_latest_for_a_deletion(position):
    first, second = member("c", day(2), pos="5"), gone(day(2), pos=position)
    assert one(WITH_POSITION, [first, second])["is_deleted"]
    first, second = member("c", day(2), pos=position), gone(day(2), pos="1")
    assert one(WITH_POSITION, [first, second])["is_deleted"]


def test_two_rows_of_one_moment_that_differ_are_in_conflict():
    row = one(LOG, [member("u", day(2)), member("u", day(2), user_id="9")])
    assert row["rejection_reason"] == "conflict"
    # The row's own clock tells them apart.
    later = member("u", day(2), user_id="9", date_modified=day(2))
    assert one(LOG, [member("u", day(2)), later])["user_id"] == 9


# F3, F4


def test_f3_an_id_that_was_deleted_and_inserted_again_is_live():
    row = one(
        LOG, [member("c", day(1)), gone(day(2)), member("c", day(3), user_id="9")]
    )
    assert (row["is_live"], row["user_id"], row["deleted_on"]) == (True, 9, None)


def test_f4_a_deletion_and_an_insertion_of_one_moment_are_an_update():
    rows = [
        member("c", day(1), pos="1"),
        gone(day(2), pos="2"),
        member("c", day(2), pos="3", user_id="9"),
    ]
    assert one(WITH_POSITION, rows)["user_id"] == 9


def test_f4_a_row_as_it_was_before_an_update_is_no_delivery():
    feed = LOG | {"before_when": "op = 'd' and note = 'update'"}
    types = CHANGES | {"note": "varchar"}
    rows = [
        member("c", day(1)),
        member("d", day(2), note="update"),
        member("c", day(2), note="update", user_id="9"),
    ]
    assert one(feed, rows, types)["user_id"] == 9
    rows[1] = member("d", day(2), note=None)
    assert one(feed, rows, types)["is_deleted"], "a mark that can't be read"


UPDATES = LOG | {"before_when": "op = 'd' and note = 'update'"}
NOTED = CHANGES | {"note": "varchar"}


@pytest.mark.parametrize(
    ("feed", "first", "second"),
    [
        (UPDATES, None, None),
        (UPDATES | {"moment": ["at", "pos"]}, "5", "6"),
        (UPDATES | {"moment": ["at", "pos"]}, "5", "5"),
        (UPDATES | {"moment": "pos", "moment_in": "position"}, "5", "6"),
    ],
)
def test_f4_an_update_that_changes_the_id_deletes_the_row_of_the_old_one(
    feed, first, second
):
    before = member("d", day(2), note="update", pos=first)
    after = member("c", day(2), note="update", pos=second, user_id="9")
    rows = [member("c", day(1), pos="1"), before, after | {"id": "2"}]
    found = staged(feed, rows, NOTED)
    assert {row[KEY]: row["is_live"] for row in found} == {1: False, 2: True}
    # And one that does not is an update.
    assert one(feed, [*rows[:2], after], NOTED)["user_id"] == 9
    assert one(feed, [*rows[:2], after, gone(day(3), pos="7")], NOTED)["is_deleted"]


def test_f4_each_update_pairs_one_row_as_it_was_before():
    """Of two, of which one gave the row another id, one deletes."""
    before = member("d", day(2), note="update")
    after = member("c", day(2), note="update", user_id="9")
    rows = [member("c", day(1)), before, after, before | {"user_id": "9"}]
    found = staged(UPDATES, [*rows, after | {"id": "2"}], NOTED)
    assert {row[KEY]: row["is_live"] for row in found} == {1: False, 2: True}


NEVER_THERE = {
    "it came with the update": [member("c", day(2))],
    "it came twice with the update": [member("c", day(2))] * 2,
    "it was deleted before": [member("c", day(1)), gone(day(1)), member("c", day(2))],
    "it was updated before": [
        member("c", day(2)),
        member("d", day(2), note="update"),
        member("c", day(2), user_id="9"),
        member("d", day(2), note="update", user_id="9"),
    ],
}


def test_f4_a_row_that_was_changed_back_before_its_id_changed_is_gone():
    """The last row as it was before is that of the first update."""
    last = member("d", day(2), note="update", date_modified=day(2))
    changed = last | {"user_id": "9", "date_modified": day(1)}
    there_and_back = [last, changed | {"op": "c"}, changed, last | {"op": "c"}]
    rows = [member("c", day(1)), *there_and_back]
    assert one(UPDATES, rows, NOTED)["is_live"]
    found = staged(UPDATES, [*rows, last, member("c", day(2), id="2")], NOTED)
    assert {row[KEY]: row["is_live"] for row in found} == {1: False, 2: True}


@pytest.mark.parametrize("rows", NEVER_THERE.values(), ids=NEVER_THERE)
def test_f4_what_came_and_changed_its_id_in_one_moment_is_not_there(rows):
    before = member("d", day(2), note="update")
    after = member("c", day(2), id="2")
    found = staged(UPDATES, [*rows, before, after], NOTED)
    assert {row[KEY]: row["is_live"] for row in found} == {1: False, 2: True}


def test_f4_a_row_that_is_delivered_again_pairs_no_further_row():
    update = [member("d", day(2), note="update"), member("c", day(2), user_id="9")]
    changed = [member("d", day(2), note="update", user_id="9")]
    rows = [member("c", day(1)), *update, *changed, update[1]]
    assert one(UPDATES, rows, NOTED)["is_deleted"]


def test_f4_a_row_that_came_and_changed_its_id_is_gone_by_a_key_alone_too():
    before = {"id": "1", "op": "d", "note": "update", "at": day(2)}
    rows = [member("c", day(2)), before, member("c", day(2), id="2")]
    found = staged(UPDATES, rows, NOTED)
    assert {row[KEY]: row["is_live"] for row in found} == {1: False, 2: True}


def test_f4_a_row_that_left_is_gone_by_a_key_alone_whatever_is_delivered_again():
    """An update of another column, a change of the id, and the first one again."""
    before = {"id": "1", "op": "d", "note": "update", "at": day(2)}
    after, other = member("c", day(2), user_id="9"), member("c", day(2), id="2")
    rows = [member("c", day(1)), before, after, before]
    assert one(UPDATES, [*rows, after], NOTED)["is_live"], "no other id came"
    found = staged(UPDATES, [*rows, after, other], NOTED)
    assert {row[KEY]: row["is_live"] for row in found} == {1: False, 2: True}
    # Two updates, each of which left another state, and a row that came by itself.
    rows += [after | {"user_id": "8", "date_modified": day(2)}, other]
    found = staged(UPDATES, rows, NOTED)
    assert {row[KEY]: row["is_live"] for row in found} == {1: True, 2: True}


def test_f4_an_update_that_is_delivered_again_alone_leaves_the_row():
    update = [member("d", day(2), note="update"), member("c", day(2))]
    assert one(UPDATES, [*update, update[1]], NOTED)["is_live"]


def test_f4_an_update_that_changes_nothing_leaves_what_was_there():
    update = [member("d", day(2), note="update"), member("c", day(2))]
    # Nothing is known of before, and no id of the moment can be the changed one.
    assert one(UPDATES, update, NOTED)["is_live"]
    assert one(UPDATES, [member("c", day(1)), *update], NOTED)["is_live"]
    rows = [member("c", day(1)), *update, *update, gone(day(3))]
    assert one(UPDATES, rows, NOTED)["is_deleted"]


@pytest.mark.parametrize("moments", [(None, None), ("soon", "soon"), ("soon", "late")])
def test_f4_a_row_as_it_was_before_pairs_by_no_moment_that_can_t_be_read(moments):
    first, second = moments
    before = member("d", first, note="update")
    other = member("c", second, note="update")
    rows = [member("c", day(1)), before, other]
    assert one(UPDATES, rows, NOTED)["is_deleted"]
    by_position = UPDATES | {"moment": "pos", "moment_in": "position"}
    rows = [member("c", None, pos="1"), before | {"pos": first}]
    assert one(by_position, [*rows, other | {"pos": second}], NOTED)["is_deleted"]


def test_rows_as_they_were_before_are_a_log_s():
    with pytest.raises(Stopped, match="only a log writes rows as they were before"):
        one({"kind": "current", "before_when": "op = 'd'"}, [member("c", day(1))])


# F5

LOADS = {"kind": "snapshots", "moment": "sf_date_created"}


def load(number: int, *ids: int, **more: str) -> list[dict]:
    """Return a load of the whole table."""
    return [
        member(None, None, id=str(each), sf_date_created=day(number), **more)
        for each in ids
    ]


def lives(rows: list[dict]) -> dict:
    """Return whether each id is live."""
    return {row[KEY]: row["is_live"] for row in rows}


def test_f5_an_id_that_a_later_load_lacks_is_gone_from_that_load_on():
    rows = [*load(1, 1, 2), *load(2, 1, 2), *load(3, 1), *load(4, 1, 3)]
    found = {row[KEY]: row for row in staged(LOADS, rows, TEXTS)}
    assert lives(found.values()) == {1: True, 2: False, 3: True}
    assert found[2]["deleted_on"] == at(3), "by the first load that lacks it"
    assert found[2]["rejection_reason"] is None


def test_f5_an_id_that_comes_back_is_live_again():
    rows = [*load(1, 1, 2), *load(2, 1), *load(3, 1, 2)]
    assert lives(staged(LOADS, rows, TEXTS)) == {1: True, 2: True}


def test_f5_ids_are_compared_as_they_are_read():
    rows = [*load(1, 1), *load(2, 1)]
    rows[1]["id"] = " +001"
    assert lives(staged(LOADS, rows, TEXTS)) == {1: True}


# Types of which the text of an id is not what is read of it.
TYPES_OF_IDS = ["double", "decimal(38,10)", "bigint"]


@pytest.mark.parametrize("kind", TYPES_OF_IDS)
def test_f5_an_id_that_comes_in_a_type_is_gone_like_any_other(kind):
    rows = [*load(1, 20_000_000, 2), *load(2, 2)]
    found = staged(LOADS, rows, TEXTS | {"id": kind})
    assert lives(found) == {20_000_000: False, 2: True}


def test_f5_a_load_that_is_not_finished_is_not_read():
    feed = LOADS | {"complete_when": "state = 'finished'"}
    types = TEXTS | {"state": "varchar"}
    rows = [*load(1, 1, 2, state="finished"), *load(2, 1, state="begun")]
    assert lives(staged(feed, rows, types)) == {1: True, 2: True}
    # A later load is complete, and the one before it never was.
    rows += load(3, 2, state="finished")
    found = {row[KEY]: row for row in staged(feed, rows, types)}
    assert lives(found.values()) == {1: False, 2: True}
    assert found[1]["deleted_on"] == at(3)


def test_f5_loads_may_be_numbered():
    feed = {"kind": "snapshots", "moment": "number", "moment_in": "position"}
    types = TEXTS | {"number": "bigint"}
    rows = [*load(1, 1, 2), *load(1, 2)]
    for row, number in zip(rows, (9, 9, 10), strict=True):
        row["number"] = number
    assert lives(staged(feed, rows, types)) == {1: False, 2: True}
    # When a load came is told beside its number.
    rows[2]["sf_date_created"] = day(5)
    found = {row[KEY]: row for row in staged(feed, rows, types)}
    assert (found[1]["is_live"], found[1]["deleted_on"]) == (False, at(5))
    before = staged(feed, rows, types, as_of=day(4))
    assert lives(before) == {1: True, 2: True}


def test_f5_a_row_of_no_load_was_there_before_the_first():
    rows = [*load(2, 2)]
    undated = member(None, None, id="1", sf_date_created=None)
    assert lives(staged(LOADS, [undated, *rows], TEXTS)) == {1: False, 2: True}


# Periods

PERIODS = {"kind": "periods", "valid_from": "since", "valid_to": "until"}
# Later than any run of these tests.
LATER = "2999-01-01 00:00:00"
WITH_PERIOD = TEXTS | {"since": "varchar", "until": "varchar"}


def period(since: str | None, until: str | None, **more: str) -> dict:
    """Return a period of a row."""
    return member(None, None, since=since, until=until) | more


def test_a_row_whose_last_period_ended_is_deleted():
    rows = [period(day(1), day(3)), period(day(3), None, user_id="9")]
    assert one(PERIODS, rows, WITH_PERIOD)["user_id"] == 9
    rows[1]["until"] = day(5)
    row = one(PERIODS, rows, WITH_PERIOD)
    assert (row["is_deleted"], row["deleted_on"]) == (True, at(5))


def test_a_period_that_begins_after_a_gap_brings_the_row_back():
    rows = [period(day(1), day(3)), period(day(5), None)]
    assert one(PERIODS, rows, WITH_PERIOD)["is_live"]
    row = one(PERIODS, rows, WITH_PERIOD, as_of=day(4))
    assert (row["is_deleted"], row["deleted_on"]) == (True, at(3))
    assert one(PERIODS, rows, WITH_PERIOD, as_of=day(5))["is_live"]


NO_END = [None, "", "9999-12-31 23:59:59.999", "9999-01-01T00:00:00", "infinity"]


@pytest.mark.parametrize("until", [*NO_END, LATER])
def test_a_period_without_an_end_is_open(until):
    rows = [period(day(1), until)]
    assert one(PERIODS, rows, WITH_PERIOD)["is_live"]
    # A history that is appended has it without its end, and then with it.
    rows.append(period(day(1), day(5)))
    assert one(PERIODS, rows, WITH_PERIOD)["is_deleted"]


@pytest.mark.parametrize(
    "until",
    [
        *("9999-12-31T23:59:59-05:00", "9999-01-01T00:00:00Z", " infinity "),
        *("9999-12-31 23:59:59Z ", "9999-01-01 05:30:00+05:30"),
    ],
)
def test_a_period_that_ends_after_the_calendar_is_open(until):
    assert one(PERIODS, [period(day(1), until)], WITH_PERIOD)["is_live"]


def test_a_typed_end_after_the_calendar_is_none():
    types = WITH_PERIOD | {"until": "timestamptz"}
    for until in ("9999-12-31 23:59:59-05", "infinity"):
        assert one(PERIODS, [period(day(1), until)], types)["is_live"]


@pytest.mark.parametrize(
    ("until", "is_live"),
    [
        *(("253402300799999", True), ("253370764800000", True)),
        *(("9223372036825200000", True), ("1772409600001", False)),
    ],
)
@pytest.mark.parametrize("kind", ["varchar", "bigint"])
def test_periods_are_written_as_the_feed_says(until, is_live, kind):
    feed = PERIODS | {"moment_in": "epoch_millis"}
    types = WITH_PERIOD | {"since": kind, "until": kind}
    first = "1772323200000"
    assert one(feed, [period(first, until)], types)["is_live"] is is_live
    row = one(feed, [period(first, "1772409600000")], types)
    assert (row["is_deleted"], row["deleted_on"]) == (True, at(2))


@pytest.mark.parametrize(
    "until", ["soon", "9999-02-30 00:00:00", "9998-02-30T23:59:59Z", "9999"]
)
def test_an_end_that_can_t_be_read_is_an_end(until):
    assert one(PERIODS, [period(day(1), until)], WITH_PERIOD)["is_deleted"]


@pytest.mark.parametrize("kind", TYPES_OF_IDS)
def test_the_period_of_an_id_that_comes_in_a_type_ends_like_any_other(kind):
    rows = [period(day(1), day(3), id="20000000"), period(day(1), None, id="2")]
    found = staged(PERIODS, rows, WITH_PERIOD | {"id": kind})
    assert lives(found) == {20_000_000: False, 2: True}


def test_a_period_that_ends_before_it_begins_does_not_outlive_its_end():
    """As where a snapshot takes its beginning from a clock that is ahead."""
    row = one(PERIODS, [period(day(9), day(2))], WITH_PERIOD)
    assert (row["is_deleted"], row["deleted_on"]) == (True, at(9))
    rows = [period(day(9), day(2)), period(day(10), None, user_id="9")]
    assert one(PERIODS, rows, WITH_PERIOD)["user_id"] == 9
    # Nor does its end outlive the period that begins with it.
    rows[1] = period(day(9), day(20))
    assert one(PERIODS, rows, WITH_PERIOD, as_of=day(12))["is_live"]
    assert one(PERIODS, rows, WITH_PERIOD, as_of=day(20))["is_deleted"]


@pytest.mark.parametrize(
    ("since", "reason"), [(None, None), ("soon", "unreadable sf_date_created")]
)
def test_a_period_without_a_beginning_that_can_be_read_is_the_earliest(since, reason):
    rows = [period(since, None), period(day(1), None, user_id="9")]
    row = one(PERIODS, rows[:1], WITH_PERIOD)
    assert (row["is_live"], row["rejection_reason"]) == (reason is None, reason)
    assert one(PERIODS, rows, WITH_PERIOD)["user_id"] == 9
    assert one(PERIODS, [period(since, day(3))], WITH_PERIOD)["is_deleted"]


@pytest.mark.parametrize("since", [None, "soon"])
@pytest.mark.parametrize("ends", [(3, 3), (3, 4)])
def test_periods_without_beginnings_end_by_no_deletion_that_outlives_the_next(
    since, ends
):
    rows = [period(since, day(end)) for end in ends]
    assert one(PERIODS, rows, WITH_PERIOD)["is_deleted"]
    rows.append(period(day(2), None, user_id="9"))
    assert one(PERIODS, rows, WITH_PERIOD)["user_id"] == 9


@pytest.mark.parametrize("later", [LATER, f"{LATER[:10]}T00:00:00Z"])
def test_what_a_period_plans_is_not_there_yet(later):
    """One that begins after the run, and the end of one that goes on until then."""
    assert staged(PERIODS, [period(later, None)], WITH_PERIOD) == []
    rows = [period(day(1), day(3)), period(later, None)]
    row = one(PERIODS, rows, WITH_PERIOD)
    assert (row["is_deleted"], row["deleted_on"]) == (True, at(3))
    rows = [period(day(1), later), period(later, None, user_id="9")]
    row = one(PERIODS, rows, WITH_PERIOD)
    assert (row["is_live"], row["user_id"]) == (True, 8)
    assert one(PERIODS, rows[:1], WITH_PERIOD)["is_live"]


def test_the_latest_of_periods_that_overlap_wins():
    rows = [period(day(1), day(9)), period(day(3), day(5), user_id="9")]
    assert one(PERIODS, rows, WITH_PERIOD)["is_deleted"]
    rows = [period(day(1), None), period(day(3), None, user_id="9")]
    assert one(PERIODS, rows, WITH_PERIOD)["user_id"] == 9


def test_periods_that_overlap_are_told():
    sandbox = FeedSandbox({MEMBERS: PERIODS})
    rows = [
        *(period(day(1), day(9)), period(day(3), day(5))),
        *(period(day(1), day(3), id="2"), period(day(3), None, id="2")),
        # It ends a thousandth of a second early, or not at all.
        *(
            period(day(1), "2026-03-02 23:59:59.999", id="3"),
            period(day(3), None, id="3"),
        ),
        *(period(day(1), None, id="4"), period(day(3), None, id="4")),
    ]
    sandbox.deliver(MEMBERS, WITH_PERIOD, rows)
    found = sandbox.query(sandbox.macros.overlapping_periods(MEMBERS))
    assert sorted(row["id"] for row in found) == [1, 4]


def test_a_period_may_say_itself_that_the_row_is_deleted():
    feed = PERIODS | {"deleted_when": "gone"}
    types = WITH_PERIOD | {"gone": "varchar"}
    rows = [period(day(1), day(3), gone="False"), period(day(3), None, gone="True")]
    assert one(feed, rows, types)["is_deleted"]
    rows = [
        *rows[:1],
        period(day(3), day(5), gone="True"),
        period(day(5), None, gone="False"),
    ]
    assert one(feed, rows, types)["is_live"]


# Past states


def test_a_past_state_goes_by_the_feed_s_moment():
    rows = [member("c", day(1)), gone(day(3)), member("c", day(5))]
    states = [one(LOG, rows, as_of=day(number))["is_live"] for number in range(1, 7)]
    assert states == [True, True, False, False, True, True]


def test_f8_a_feed_without_any_time_has_no_past():
    feed = {"columns": {"sf_date_created": None}}
    rows = [member(None, None)]
    assert one(feed, rows)["is_live"]
    with pytest.raises(Stopped, match="neither a clock nor a load time"):
        staged(feed, rows, as_of=day(4))
    # Nor is it read from a format's snapshots, between which loaders append.
    macros = FeedSandbox({MEMBERS: feed}).macros
    macros.stand_in(execute=True, source="{}.{}".format)
    macros.adapter.raw_snapshots = lambda *given: ["a snapshot"]
    with pytest.raises(Stopped, match="neither a clock nor a load time"):
        macros.feed_over_time(MEMBERS)


def test_f7_a_present_state_has_no_past():
    rows = [member(None, None, gone="false")]
    with pytest.raises(Stopped) as stopped:
        staged(
            {"kind": "current", "deleted_when": "gone"},
            rows,
            TEXTS | {"gone": "varchar"},
            as_of=day(1),
        )
    assert f"the feed of {MEMBERS} is of the kind 'current'" in str(stopped.value)


@pytest.mark.parametrize(
    ("feed", "compares"), [({"kind": "current"}, True), (LOADS, False), (LOG, False)]
)
def test_f7_only_of_a_present_state_the_version_before_is_compared(feed, compares):
    macros, before = FeedSandbox({MEMBERS: feed}).macros, {"version": "v", "since": "s"}
    node = SimpleNamespace(schema="p", alias=f"stg_{MEMBERS}")
    macros.stand_in(
        execute=True,
        flags=SimpleNamespace(INTROSPECT=True),
        model_named=lambda name: node,
    )
    macros.adapter.version_before = lambda schema, alias: before
    assert macros.version_before(MEMBERS) == (before if compares else None)


def test_the_rows_of_an_id_in_one_snapshot_compete_as_in_a_past_state():
    sandbox = FeedSandbox({MEMBERS: {"kind": "current", "deleted_when": "gone"}})
    older = member(None, None, sf_date_created=day(1), gone="true")
    newer = older | {"sf_date_created": day(2), "gone": "false"}
    for number, rows in enumerate(([], [older, newer], [newer], [older], []), 1):
        sandbox.deliver(MEMBERS, TEXTS | {"gone": "varchar"}, rows)
        sandbox.keep(MEMBERS, number)
    history = sorted(sandbox.history(MEMBERS), key=lambda row: row["since"])
    assert [(row["since"], row["is_live"], row["is_deleted"]) for row in history] == [
        (2, True, False),
        (3, True, False),
        (4, False, True),
        (5, False, True),
    ]
    assert {row["rejection_reason"] for row in history} == {None}


def test_an_empty_history_is_one():
    sandbox = FeedSandbox({MEMBERS: {"kind": "current"}})
    sandbox.deliver(MEMBERS, TEXTS, [])
    sandbox.keep(MEMBERS, 1)
    assert sandbox.history(MEMBERS) == []
    sandbox.snapshots.clear()
    for ask in (
        lambda: sandbox.history(MEMBERS),
        lambda: sandbox.macros.stage_raw_table(MEMBERS, f"{RAW}.{MEMBERS}"),
    ):
        with pytest.raises(Stopped, match="is of the kind 'current'"):
            ask()


# F12


def test_f12_times_and_flags_are_read_as_the_feed_says():
    reads = {"timestamps": "iso", True: ["Y", "t"], False: ["N", "f"]}
    rows = [
        member(
            None, None, id="1", is_active="Y", date_created="2026-03-01T02:30:00+02:00"
        ),
        member(None, None, id="2", is_active="n", date_created="2026-03-01T00:30:00Z"),
        member(None, None, id="3", is_active="t", date_created="2026-03-01 00:30:00"),
        member(
            None, None, id="4", is_active="true", date_created="2026-02-30T00:30:00Z"
        ),
        member(None, None, id="5", is_active="x", date_created=None),
    ]
    found = {row[KEY]: row for row in staged({"reads": reads}, rows, TEXTS)}
    assert [found[each]["is_live"] for each in (1, 2, 3)] == [True, False, True]
    assert {found[each]["date_created"] for each in (1, 2, 3)} == {
        datetime(2026, 3, 1, 0, 30)
    }
    assert found[4]["rejection_reason"] == "unreadable date_created"
    assert found[5]["rejection_reason"] == "unreadable is_active"


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("epoch_seconds", "1772325000"),
        ("epoch_millis", "1772325000000"),
        ("epoch_micros", "1772325000000000"),
    ],
)
@pytest.mark.parametrize("kind", ["varchar", "bigint"])
def test_f12_epochs_are_read_as_the_feed_says(written, value, kind):
    types = TEXTS | {"date_created": kind}
    rows = [member(None, None, date_created=value)]
    row = one({"reads": {"timestamps": written}}, rows, types)
    assert row["date_created"] == datetime(2026, 3, 1, 0, 30)
    assert (
        one({"kind": "appended"}, rows, types)["rejection_reason"]
        == "unreadable date_created"
    )


@pytest.mark.parametrize("space", [" ", "\u00a0", "\u2003\n"])
@pytest.mark.parametrize(
    ("written", "first", "second"),
    [
        ("timestamp", "2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z"),
        ("timestamp", "2026-03-01 02:00:00+02:00", "2026-03-02 02:00:00+02:00"),
        ("epoch_seconds", "1772323200", "1772409600"),
        ("epoch_millis", "1772323200000", "1772409600000"),
    ],
)
def test_white_space_around_a_moment_is_not_read(written, first, second, space):
    spaced = space + second + space
    feed = LOG | {"moment_in": written}
    rows = [member("c", first), member("u", spaced, user_id="9")]
    assert one(feed, rows)["user_id"] == 9, "an update that moves the right"
    loads = {"kind": "snapshots", "moment": "at", "moment_in": written}
    rows = [member(None, first), member(None, first, id="2")]
    rows += [member(None, spaced, id="2")]
    assert lives(staged(loads, rows)) == {1: False, 2: True}
    if written == "timestamp":
        row = one(PERIODS, [period(first, spaced)], WITH_PERIOD)
        assert row["deleted_on"] == at(2)
    reads = {"reads": {"timestamps": "iso" if written == "timestamp" else written}}
    row = one(reads, [member(None, None, date_modified=spaced)], TEXTS)
    assert row["date_modified"] == at(2)


def test_white_space_around_a_position_is_not_read():
    first = member("c", day(2), pos="9")
    second = member("u", day(2), pos="\u00a010\u2003", user_id="9")
    assert one(WITH_POSITION, [first, second])["user_id"] == 9


@pytest.mark.parametrize(
    "kind", ["double", "decimal(38,10)", "decimal(20,0)", "bigint"]
)
def test_f11_a_position_is_a_whole_number_in_any_type(kind):
    types = CHANGES | {"pos": kind}
    rows = [member("c", day(2), pos=9), member("u", day(2), pos=10, user_id="9")]
    assert one(WITH_POSITION, rows, types)["user_id"] == 9
    rows = [member(None, None, pos=1), member(None, None, id="2", pos=1)]
    rows += [member(None, None, id="2", pos=2)]
    feed = {"kind": "snapshots", "moment": "pos", "moment_in": "position"}
    assert lives(staged(feed, rows, types)) == {1: False, 2: True}


def test_a_position_with_a_fraction_can_t_be_read():
    fraction = member("u", day(2), pos="5.4", user_id="9", date_modified=day(2))
    row = one(WITH_POSITION, [member("c", day(2), pos="5"), fraction])
    assert row["user_id"] == 8, "it is not rounded to the other's"


@pytest.mark.parametrize("kind", ["double", "decimal(20,3)", "decimal(20,0)"])
@pytest.mark.parametrize(
    ("written", "first"),
    [("epoch_seconds", 1772409600), ("epoch_millis", 1772409600000)],
)
def test_f11_an_epoch_is_a_whole_number_in_any_type(kind, written, first):
    types = CHANGES | {"at": kind, "date_created": kind}
    feed = LOG | {"moment_in": written, "reads": {"timestamps": written}}
    row = member("c", first, date_created=first, date_modified=None)
    row = one(feed, [row], types)
    assert (row["date_created"], row["sf_date_created"]) == (at(2), at(2))


@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
@pytest.mark.parametrize("written", ["iso", "epoch_seconds", "epoch_micros"])
def test_f11_a_typed_time_is_read_by_its_type_whatever_texts_are(kind, written):
    rows = [member(None, None, date_created=at(2), date_modified=None)]
    reads = {"reads": {"timestamps": written}}
    row = one(reads, rows, TEXTS | {"date_created": kind})
    assert (row["date_created"], row["rejection_reason"]) == (at(2), None)


@pytest.mark.parametrize("kind", ["varchar", "bigint", "decimal(20,0)"])
@pytest.mark.parametrize(
    ("written", "number", "fraction"),
    [
        ("epoch_seconds", 253402300799, 0),
        ("epoch_millis", 253402300799999, 999000),
        ("epoch_micros", 253402300799999999, 999999),
    ],
)
def test_f12_the_last_moment_of_the_calendar_is_an_epoch(
    kind, written, number, fraction
):
    feed = {"reads": {"timestamps": written}}
    last = datetime(9999, 12, 31, 23, 59, 59, fraction)
    for each, found in ((number, last), (number + 1, None)):
        rows = [member(None, None, date_created=each, date_modified=None)]
        row = one(feed, rows, TEXTS | {"date_created": kind})
        assert row["date_created"] == found
        assert row["is_live"] is (found is not None)


@pytest.mark.parametrize(
    "kind", ["double", "decimal(38,10)", "decimal(1,0)", "tinyint", "varchar"]
)
@pytest.mark.parametrize("reads", [{}, {True: ["Y"], False: ["N"]}])
def test_f11_a_flag_is_0_or_1_in_any_type(kind, reads):
    feed = {"kind": "current", "deleted_when": "gone", "reads": reads}
    flags = {0: True, 1: False}
    for flag, is_live in flags.items():
        rows = [member(None, None, gone=flag)]
        row = one(feed, rows, TEXTS | {"gone": kind})
        assert row["is_live"] is is_live
    if kind != "double":
        for flag, is_live in flags.items():
            rows = [member(None, None, is_active=flag)]
            row = one({"reads": reads}, rows, TEXTS | {"is_active": kind})
            assert (row["is_live"], row["rejection_reason"]) == (not is_live, None)


# Moments that can't be read


def unreadable(feed: dict, rows: list[dict], types: dict = CHANGES) -> dict:
    """Return how many values of each column the data test counts, and their form."""
    sandbox = FeedSandbox({MEMBERS: feed}, access_stale_error_hours=24)
    sandbox.deliver(MEMBERS, types, rows)
    return {
        row["column_name"]: (row["deliveries"], row["written_like"])
        for row in sandbox.query(sandbox.macros.unread_deliveries(MEMBERS)[0])
    }


def test_moments_that_can_t_be_read_are_counted():
    offset = "2026-03-02T00:00:00.000+0000"
    rows = [member("c", day(1)), member("u", offset), member("u", offset, id="2")]
    rows += [member("c", each) for each in (None, " \u00a0", f"{day(1)}Z ")]
    assert unreadable(LOG, rows) == {"at": (2, "9999-99-99a99:99:99.999+9999")}
    assert unreadable(LOG, rows[:1]) == {}


def test_positions_and_loads_that_can_t_be_read_are_counted():
    rows = [member("c", day(2), pos=each) for each in ("5", "1.2", "0/16B3748", None)]
    assert unreadable(WITH_POSITION, rows) == {"pos": (2, "9/99a9999")}
    numbered = {"kind": "snapshots", "moment": "pos", "moment_in": "position"}
    # Without its moment a load would be the first.
    assert unreadable(numbered, rows) == {"pos": (3, "9/99a9999")}
    rows = [member(None, "20260302"), member(None, day(1))]
    loads = {"kind": "snapshots", "moment": "at"}
    assert unreadable(loads, rows) == {"at": (1, "99999999")}


def test_periods_that_can_t_be_read_are_counted():
    ends = ("soon", "infinity", "9999-12-31T23:59:59-05:00", None, day(3))
    rows = [period(day(1), each) for each in ends]
    rows.append(period("1772323200000", None))
    wanted = {"since": (1, "9999999999999"), "until": (1, "aaaa")}
    assert unreadable(PERIODS, rows, WITH_PERIOD) == wanted


def overtaken(feed: dict, rows: list[dict], types: dict = CHANGES) -> dict:
    """Return how much of each column the data test says something outlives."""
    sandbox = FeedSandbox({MEMBERS: feed}, access_stale_error_hours=24)
    sandbox.deliver(MEMBERS, types, rows)
    *moments, sql = sandbox.macros.unread_deliveries(MEMBERS)
    assert len(moments) == ("moment" in feed), "the last query is about what came later"
    return {row["column_name"]: row["deliveries"] for row in sandbox.query(sql)}


def test_f5_a_load_without_its_moment_is_counted():
    rows = [*load(1, 1, 2), *load(2, 1), member(None, None)]
    assert unreadable(LOADS, rows) == {"sf_date_created": (1, None)}
    assert unreadable(LOADS, rows[:-1]) == {}


@pytest.mark.parametrize("kind", ["varchar", "timestamp", "timestamptz"])
def test_f5_loads_that_stay_unfinished_for_a_day_are_counted(kind):
    feed = LOADS | {"complete_when": "state = 'finished'"}
    types = TEXTS | {"state": "varchar", "sf_date_created": kind}
    never = [*load(2, 1, state="FINISHED"), *load(4, 1, state="FINISHED")]
    rows = [*load(1, 1, 2, state="finished"), *never[:1]]
    assert overtaken(feed, rows, types) == {}, "it may be under way"
    assert overtaken(feed, [*rows, *never[1:]], types) == {"complete_when": 2}
    assert overtaken(feed, never, types) == {"complete_when": 2}
    rows += [*never[1:], *load(5, 1, state="finished")]
    assert overtaken(feed, rows, types) == {}


def test_f5_numbered_loads_that_stay_unfinished_are_counted_without_load_times():
    feed = {"kind": "snapshots", "moment": "pos", "moment_in": "position"}
    feed |= {"complete_when": "state = 'finished'"}
    types = CHANGES | {"state": "varchar"}

    def numbered(number: str, state: str, loaded: str | None = None) -> dict:
        return member(None, None, pos=number, state=state, sf_date_created=loaded)

    finished = numbered("9", "finished")
    under_way = [finished, numbered("10", "begun")]
    assert overtaken(feed, under_way, types) == {}, "it may be under way"
    given_up = [*under_way, numbered("11", "begun")]
    assert overtaken(feed, given_up, types) == {"complete_when": 2}
    assert overtaken(feed, [*given_up, numbered("12", "finished")], types) == {}
    timed = [finished, *(numbered(n, "begun", f"{day(2)}") for n in ("10", "11"))]
    assert overtaken(feed, timed, types) == {}, "none is late"
    timed.append(numbered("12", "begun", day(4)))
    assert overtaken(feed, timed, types) == {"complete_when": 3}


def test_f3_ids_that_a_deletion_without_a_date_outlives_are_counted():
    feed = {"deleted_when": "op = 'd'"}
    deleted = {"id": "1", "op": "d", "sf_date_created": day(2)}
    rows = [member("c", None, sf_date_created=day(1)), deleted]
    assert overtaken(feed, rows) == {}
    again = member("c", None, date_modified=day(3), sf_date_created=day(3))
    assert overtaken(feed, [*rows, again]) == {"date_modified": 1}
    dated = deleted | {"date_modified": day(2)}
    assert overtaken(feed, [rows[0], dated, again]) == {}
    later = dated | {"date_modified": day(4), "sf_date_created": day(4)}
    assert overtaken(feed, [*rows, again, later]) == {}
    assert overtaken(feed, [*rows, again | {"id": " 01"}]) == {"date_modified": 1}
    typed = CHANGES | dict.fromkeys(("sf_date_created", "date_modified"), "timestamp")
    assert overtaken(feed, [*rows, again], typed) == {"date_modified": 1}
    no_id = [row | {"id": each} for each in (None, "x") for row in (*rows, again)]
    assert overtaken(feed, no_id) == {}, "it is not known whose they are"
    moments = feed | {"moment": "sf_date_created"}
    assert one(moments, [*rows, again])["is_live"]
    declared = FeedSandbox({MEMBERS: moments}, access_stale_error_hours=24).macros
    assert len(declared.unread_deliveries(MEMBERS)) == 1, "what can't be read alone"


def test_each_raw_table_is_tested_for_moments_that_can_t_be_read():
    text = (ROOT / "models/staging/_staging__models.yml").read_text(encoding="utf-8")
    tested = {
        model["name"]: model["data_tests"]
        for model in yaml.safe_load(text)["models"]
        if model["name"].startswith("stg_")
    }
    assert tested == {
        f"stg_{table}": [{"moments_can_be_read": {"arguments": {"table": table}}}]
        for table in TABLES
    }


# Absent tables


@pytest.mark.parametrize(
    "feeds",
    [
        None,
        {"default": {"loader": "fivetran"}},
        {"default": WITH_POSITION},
        {"default": {"kind": "snapshots", "moment": "load"}},
        {"default": {"kind": "periods", "valid_from": "since", "valid_to": "until"}},
        {MEMBERS: {"columns": {"valid_until": "ends"}}},
    ],
)
def test_an_empty_relation_stands_in_for_a_table_that_the_application_has_not(feeds):
    sandbox = FeedSandbox(feeds, absent_tables=[MEMBERS])
    assert sandbox.staged(MEMBERS) == []


# What a query costs


def with_questions(feed: dict | None) -> tuple[FeedSandbox, list[str]]:
    """Return raw tables of a feed, and the tables whose types are asked for."""
    sandbox, asked = FeedSandbox({MEMBERS: feed} if feed else {}), []
    sandbox.deliver(MEMBERS, CHANGES | {"id": "bigint"}, [])
    sandbox.macros.stand_in(
        raw_readings=lambda name: asked.append(name) or sandbox.readings(name)
    )
    return sandbox, asked


@pytest.mark.parametrize("feed", [None, LOG])
def test_staging_asks_once_for_the_types_of_its_raw_table(feed):
    sandbox, asked = with_questions(feed)
    sandbox.sql(MEMBERS)
    assert asked == [MEMBERS]


@pytest.mark.parametrize("feed", [None, LOG])
def test_what_does_not_count_asks_once_for_the_types_of_each_raw_table(feed):
    sandbox, asked = with_questions(feed)
    sandbox.macros.uncounted_deliveries_query()
    assert MEMBERS in asked
    assert sorted(asked) == sorted(set(asked))


def test_a_period_that_ends_a_thousandth_of_a_second_early_is_followed():
    rows = [period(day(1), "2026-03-02 23:59:59.999"), period(day(3), None)]
    between = "2026-03-02 23:59:59.9995"
    assert one(PERIODS, rows, WITH_PERIOD, as_of=between)["is_live"]
    rows[0]["until"] = "2026-03-02 23:59:59.998999"
    assert one(PERIODS, rows, WITH_PERIOD, as_of=between)["is_deleted"]
