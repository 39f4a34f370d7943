"""F9 and F10: each loader's raw tables are read by its preset, and not overlooked."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from feed_sandbox import SPARK, FeedSandbox
from loader_tables import (
    ANN,
    BEN,
    CLEO,
    LOADERS,
    RAW,
    RENAMED,
    TIMES,
    Loader,
    hour,
    own,
    row,
)
from projects import ROOT
from rendering import Stopped

from secure_datasets.config.feeds import (
    PRESETS,
    loader_columns,
    problems_of,
    read_feeds,
)


def staged(loader: Loader, **variables: Any) -> dict[int, dict[str, Any]]:
    """Return the staged users that are there, by their ids."""
    sandbox = FeedSandbox({"users": loader.feed}, **variables)
    sandbox.deliver("users", loader.types, loader.rows)
    return {each["user_id"]: each for each in sandbox.staged("users")}


@pytest.fixture(params=LOADERS)
def loader(request):
    """What each of the loaders makes."""
    return LOADERS[request.param]()


def test_every_preset_is_tried():
    assert set(LOADERS) == set(PRESETS)


def test_f10_a_loader_s_raw_table_is_read_by_its_preset(loader):
    found = staged(loader)
    assert {key: each["is_live"] for key, each in found.items()} == {
        1: True,
        2: False,
        3: True,
    }
    assert found[1]["login_name"] == "anna"
    assert found[2]["is_deleted"]
    assert {each["rejection_reason"] for each in found.values()} == {None}


@pytest.mark.parametrize(
    "name", [name for name in LOADERS if PRESETS[name]["kind"] != "current"]
)
def test_f10_a_loader_that_keeps_the_past_tells_it(name):
    loader = LOADERS[name]()
    past = [
        {key: each["login_name"] for key, each in found.items() if each["is_live"]}
        for found in (staged(loader, as_of=hour(number)) for number in (1, 2, 3, 4))
    ]
    assert past == [
        {1: "ann", 2: "ben", 3: "cleo"},
        {1: "anna", 2: "ben", 3: "cleo"},
        {1: "anna"},
        {1: "anna", 3: "cleo"},
    ]


@pytest.mark.parametrize(
    "name", [name for name in LOADERS if PRESETS[name]["kind"] == "current"]
)
def test_f7_a_loader_that_keeps_the_present_has_no_past(name):
    with pytest.raises(Stopped, match="is of the kind 'current'"):
        staged(LOADERS[name](), as_of=hour(2))


def as_change_data_feed(action: str, is_update: bool) -> str:
    """Return what Delta's change data feed calls a change of a Snowflake stream."""
    if is_update:
        return "update_preimage" if action == "DELETE" else "update_postimage"
    return action.lower()


STREAM = {"METADATA$ACTION": "varchar", "METADATA$ISUPDATE": "boolean"}
FEED_OF_CHANGES = {"_change_type": "varchar", "_commit_version": "bigint"}


@pytest.mark.parametrize("is_update", [False, True])
@pytest.mark.parametrize("name", ["snowflake_stream", "delta"])
def test_f4_a_deletion_and_an_insertion_of_one_commit_are_an_update(name, is_update):
    def change(hours: int, action: str, login: str, is_update: bool) -> dict:
        return {
            **{"id": 1, "login_name": login, "is_active": True},
            "METADATA$ACTION": action,
            "METADATA$ISUPDATE": is_update,
            "_change_type": as_change_data_feed(action, is_update),
            "_commit_version": hours,
            "at": hour(hours),
        }

    rows = [
        change(1, "INSERT", "ann", False),
        change(2, "INSERT", "anna", is_update),
        change(2, "DELETE", "ann", is_update),
    ]
    if name == "delta":
        (known,) = (c for c in loader_columns() if c.column == "_change_type")
        feed = {**known.declare, "moment": ["at", "_commit_version"]}
    else:
        feed = {"loader": name, "moment": "at"}
    types = own(at="timestamp") | STREAM | FEED_OF_CHANGES
    (found,) = staged(Loader(feed, types, rows)).values()
    assert (found["is_live"], found["login_name"]) == (True, "anna")
    # And one without the other deletes.
    (found,) = staged(Loader(feed, types, [rows[0], rows[2]])).values()
    assert found["is_deleted"]
    rows.append(change(3, "DELETE", "anna", False))
    (found,) = staged(Loader(feed, types, rows)).values()
    assert found["is_deleted"]


@pytest.mark.parametrize("flag", [False, None])
def test_f10_a_version_without_an_end_that_is_not_active_deletes(flag):
    loader = LOADERS["fivetran_history"]()
    (newest,) = (row for row in loader.rows if row["login_name"] == "anna")
    newest["_fivetran_active"] = flag
    found = staged(loader)
    assert [key for key, each in found.items() if each["is_live"]] == [3]
    assert found[1]["is_deleted"] and found[1]["rejection_reason"] is None
    # The versions before are what they were.
    assert staged(loader, as_of=hour(1))[1]["is_live"]


def on_the_page(name: str) -> dict[str, Any]:
    """Return the feed of users that the page about feeds declares for a loader."""
    page = (ROOT / "docs/feeds.md").read_text(encoding="utf-8")
    block = page.partition(f"**{name}**")[2].partition("```yaml\n")[2]
    return yaml.safe_load(block.partition("```")[0])["vars"]["feeds"]["users"]


def assert_came_and_went(found: dict[int, dict]) -> None:
    """Assert that 1 has a new name, 2 and 4 are gone, and 3 is back."""
    lives = {key: each["is_live"] for key, each in found.items()}
    assert lives == {1: True, 2: False, 3: True, 4: False}
    assert found[1]["login_name"] == "anna"


@pytest.mark.parametrize("of_before", [0, 1])
def test_the_change_tables_of_qlik_replicate_are_read_as_the_page_says(of_before):
    """35 digits order them, and an update is its row before and after."""

    def change(who: dict, number: int, place: int, oper: str) -> dict:
        values = {"id": who["id"]} if oper == "D" else row(who)
        return values | {
            "header__change_seq": f"20260301{number:02}000000{place:019}",
            "header__change_oper": oper,
            "header__change_mask": b"\x07",
            "header__stream_position": "00000A:0001",
            "header__operation": {"D": "DELETE", "I": "INSERT"}.get(oper, "UPDATE"),
            "header__transaction_id": "0000000000000000000000000001",
            "header__timestamp": hour(number),
        }

    types = own(
        header__change_seq="varchar",
        header__change_oper="varchar",
        header__change_mask="blob",
        header__stream_position="varchar",
        header__operation="varchar",
        header__transaction_id="varchar",
        header__timestamp="timestamp",
    )
    rows = [change(who, 1, n, "I") for n, who in enumerate((ANN, BEN, CLEO))]
    rows += [change(ANN, 2, 5 - of_before, "B"), change(RENAMED, 2, 5, "U")]
    rows += [change(BEN, 3, 6, "D"), change(CLEO, 3, 7, "D")]
    # Gone and back in one transaction, and there and gone in one.
    rows += [change(CLEO, 3, 8, "I"), change(ANN | {"id": 4}, 3, 9, "I")]
    rows.append(change(ANN | {"id": 4}, 3, 10, "D"))
    loader = Loader(on_the_page("Qlik Replicate"), types, rows)
    assert told(loader, loader.feed) == []
    found = staged(loader)
    assert_came_and_went(found)
    assert str(found[2]["deleted_on"]) == hour(3)
    assert staged(loader, as_of=hour(2))[2]["is_live"]


def test_the_change_tables_of_sql_server_are_read_as_the_page_says():
    def change(who: dict, number: int, place: int, operation: int) -> dict:
        return row(who) | {
            "__$start_lsn": number.to_bytes(10, "big"),
            "__$end_lsn": None,
            "__$seqval": place.to_bytes(10, "big"),
            "__$operation": operation,
            "__$update_mask": b"\x07",
            "__$command_id": 1,
            "committed": hour(number),
            "start_lsn": 10**24 + number,
            "seqval": 10**24 + place,
        }

    types = own(**dict.fromkeys(TIMES, "timestamp")) | {
        "__$start_lsn": "blob",
        "__$end_lsn": "blob",
        "__$seqval": "blob",
        "__$operation": "integer",
        "__$update_mask": "blob",
        "__$command_id": "integer",
        "committed": "timestamp",
        "start_lsn": "decimal(25,0)",
        "seqval": "decimal(25,0)",
    }
    rows = [change(who, 1, n, 2) for n, who in enumerate((ANN, BEN, CLEO))]
    # An update is its row before and after, or a deletion and an insertion.
    rows += [change(RENAMED, 2, 5, 4), change(ANN, 2, 5, 3), change(BEN, 3, 6, 1)]
    rows += [change(CLEO, 3, 7, 2), change(CLEO, 3, 7, 1)]
    # There and gone in one transaction.
    rows += [change(ANN | {"id": 4}, 3, 9, 2), change(ANN | {"id": 4}, 3, 10, 1)]
    loader = Loader(on_the_page("SQL Server, change data capture"), types, rows)
    assert told(loader, loader.feed) == []
    found = staged(loader)
    assert_came_and_went(found)
    assert staged(loader, as_of=hour(2))[2]["is_live"]
    # The columns as they are can't be ordered.
    binary = loader.feed | {"moment": ["committed", "__$start_lsn", "__$seqval"]}
    said = told(loader, binary)
    assert len(said) == 2
    assert all("binary, of which no position is read" in each for each in said)


def snapshot(*versions: tuple, **feed: str) -> list[tuple]:
    """Return the states of user 1, at each hour and now, of a dbt snapshot.

    versions  login name, dbt_valid_from, dbt_valid_to, dbt_is_deleted
    """
    made = LOADERS["dbt_snapshot"]()
    rows = [
        {"id": 1, "login_name": login, "is_active": True}
        | {"dbt_valid_from": hour(start), "dbt_valid_to": end and hour(end)}
        | {"dbt_is_deleted": str(gone)}
        for login, start, end, gone in versions
    ]
    loader = Loader({"loader": "dbt_snapshot"} | feed, made.types, rows)
    states = [staged(loader, as_of=hour(each)).get(1) for each in range(1, 8)]
    states.append(staged(loader)[1])
    assert not any(each["rejection_reason"] for each in states if each)
    return [
        each and (each["login_name"] if each["is_live"] else None) for each in states
    ]


NEW_RECORD = {"deleted_when": "dbt_is_deleted"}


@pytest.mark.parametrize("updated", [1, 3])
def test_f3_a_row_that_came_back_to_a_dbt_snapshot_with_an_older_clock_is_live(updated):
    """Strategy timestamp: a beginning is the row's own, and a deletion's is the run's.

    Hour 2: ann is there. Hour 5: a run finds that she is gone. Later she is back, as
    she was at an hour before.
    """
    back = ("anna", updated, None, False)
    # hard_deletes: invalidate
    states = snapshot(("ann", 2, 5, False), back)
    assert states[-1] == "anna"
    assert states[1] in ("ann", "anna")
    # hard_deletes: new_record, whose mark is closed by the older clock.
    marked = [("ann", 2, 5, False), ("ann", 5, updated, True)]
    states = snapshot(*marked, back, **NEW_RECORD)
    assert states[-1] == "anna"


def test_f3_a_row_that_is_gone_from_a_dbt_snapshot_again_is_deleted():
    closed = [("ann", 2, 5, False), ("anna", 1, 6, False)]
    assert snapshot(*closed)[-1] is None
    marked = [("ann", 2, 5, False), ("ann", 5, 1, True), ("anna", 1, 6, False)]
    marked.append(("anna", 6, None, True))
    assert snapshot(*marked, **NEW_RECORD)[-1] is None
    # dbt writes no version of a row that is back as it was: its mark alone is closed.
    assert snapshot(*marked[:1], ("ann", 5, 2, True), **NEW_RECORD)[-1] is None


def test_f3_an_update_of_a_dbt_snapshot_with_an_older_clock_is_live():
    """Strategy check, with an `updated_at` that went back."""
    states = snapshot(("ann", 4, 2, False), ("anna", 2, None, False))
    assert states == [None, None, None, "ann", *["anna"] * 4]


def test_a_dbt_snapshot_with_an_end_for_what_holds_is_read():
    """dbt_valid_to_current, which dbt writes in the place of null."""
    made = LOADERS["dbt_snapshot"]()
    ends = {None: "9999-12-31 00:00:00"}
    rows = [
        r | {"dbt_valid_to": ends.get(r["dbt_valid_to"], r["dbt_valid_to"])}
        for r in made.rows
    ]
    found = staged(Loader(made.feed, made.types, rows))
    assert {key: each["is_live"] for key, each in found.items()} == {
        1: True,
        2: False,
        3: True,
    }


def test_of_other_periods_that_overlap_the_latest_wins():
    periods = {"valid_from": "dbt_valid_from", "valid_to": "dbt_valid_to"}
    made = LOADERS["dbt_snapshot"]()
    rows = [
        {
            "id": 1,
            "is_active": True,
            "dbt_valid_from": hour(2),
            "dbt_valid_to": hour(5),
        },
        {"id": 1, "is_active": True, "dbt_valid_from": hour(1), "dbt_valid_to": None},
    ]
    feed = {"kind": "periods", "ignores": ["dbt_is_deleted"]} | periods
    assert staged(Loader(feed, made.types, rows))[1]["is_deleted"]


def told(loader: Loader, feed: dict | None) -> list[str]:
    """Return what the check says of the raw table under a feed."""
    types = {column: SPARK.get(kind, kind) for column, kind in loader.types.items()}
    declared = read_feeds({"users": feed} if feed else {}, RAW).get("users")
    return list(problems_of("users", declared, types, RAW["users"]))


def test_f9_the_raw_table_without_its_feed_stops_the_run(loader):
    said = told(loader, None)
    for column in loader.told:
        assert [s for s in said if s.startswith(f"users has the column {column} of ")]


def test_f9_the_raw_table_with_its_feed_has_nothing_wrong(loader):
    assert told(loader, loader.feed) == []


@pytest.mark.parametrize("known", loader_columns(), ids=lambda known: known.column)
def test_f9_what_the_list_says_to_declare_reads_the_column(known):
    feed = {
        key: "at" if str(value).startswith("<") else value
        for key, value in known.declare.items()
    }
    named = {known.column: "varchar", "at": "timestamp"}
    for key in ("moment", "valid_from", "valid_to"):
        columns = feed.get(key, [])
        columns = [columns] if isinstance(columns, str) else columns
        named |= dict.fromkeys(columns[:1], "timestamp")
        named |= dict.fromkeys(columns[1:], "bigint")
    loader = Loader(feed, own(**named), [])
    overlooked = f"users has the column {known.column} of "
    assert [said for said in told(loader, None) if said.startswith(overlooked)]
    assert not [said for said in told(loader, feed) if said.startswith(overlooked)]
