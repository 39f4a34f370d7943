"""F9 and F10: each loader's raw tables are read by its preset, and not overlooked."""

from __future__ import annotations

from typing import Any

import pytest
from feed_sandbox import SPARK, FeedSandbox
from loader_tables import LOADERS, RAW, Loader, hour, own
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
