"""How long raw rows have waited for access to be resolved, by the data test's text."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from own_config import PRODUCTS, document_of
from projects import ROOT
from rendering import Macros
from staging_sandbox import connected, in_duckdb

FILE = ROOT / "tests/dbt/assert_access_is_resolved_from_the_newest_deliveries.sql"
NOW = datetime.now().astimezone()


def micros(hours_ago: int) -> int:
    """Return a moment as microseconds since 1970."""
    moment = NOW - timedelta(hours=hours_ago)
    return int(moment.timestamp()) * 10**6


def waiting(reads: list[dict], loads: list[int | None]) -> list[int]:
    """Return the hours that the data test finds for the users, if it finds any.

    `loads`: how many hours ago each raw row was loaded, or none where it does not say.
    """
    macros, connection = Macros(document_of(PRODUCTS), types={}), connected()
    connection.execute("create table loaded (sf_date_created timestamptz)")
    for each in loads:
        when = None if each is None else f"to_timestamp({micros(each)} / 1000000)"
        connection.execute(f"insert into loaded select {when or 'null'}")
    macros.adapter.changed_raw_tables = lambda graph, relations: reads
    macros.stand_in(
        flags={"INTROSPECT": True},
        relations_of_rights=lambda config: [],
        delivered_values=lambda *given: "select sf_date_created from loaded",
        var=lambda name, *default: (default or [24])[0],
    )
    text = macros.rendered(FILE.read_text(encoding="utf-8"))
    query = f"select hours_waiting from ({text}) as told"
    return [hours for (hours,) in connection.execute(in_duckdb(query)).fetchall()]


def read(hours_ago: int, newest: int | None) -> dict:
    """Return what a version tells of its reading of the users."""
    known = None if newest is None else micros(newest)
    return {"table": "raw.users", "read_at": micros(hours_ago), "newest": known}


@pytest.mark.parametrize(
    ("reads", "loads", "wanted"),
    [
        # What came since the newest load that was read has waited since it came.
        ([read(5, 6)], [100, 6, 3, 2], [4]),
        # Without a load time then, only what came since the reading is new.
        ([read(5, None)], [100, 6, 3], [4]),
        # Without any, it has waited since the reading.
        ([read(5, None)], [None, None], [6]),
        # A row that does not say when it came may have come right after the reading.
        ([read(5, 6)], [100, 3, None], [6]),
        # The oldest of two readings counts, also beside one that knows no load time.
        ([read(5, 6), read(8, None)], [100, 7, 3], [8]),
        ([], [100], []),
    ],
)
def test_hours_count_from_what_was_read(reads, loads, wanted):
    assert waiting(reads, loads) == wanted
