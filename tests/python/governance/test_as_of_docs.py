"""The example on the page of past states is what the commands print of the sample."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from change_sandbox import Compared
from oracle.contract import (
    ACCESS_TABLES,
    AccessChange,
    World,
    delivered_until,
    load_time,
    timeline,
)
from projects import ROOT
from sample_history import ids, sample

PAGE = (ROOT / "docs/as-of.md").read_text(encoding="utf-8")
# Where the page leaves lines out.
CUT = "\n...\n"
USERS = ids("users", "login_name")
LOGINS, SOURCES, PROJECTS = (
    {number: name for name, number in ids(table, column).items()}
    for table, column in (
        ("users", "login_name"),
        ("meta_data_sources", "name"),
        ("projects", "name"),
    )
)


def shown(command: str) -> str:
    """Return what the page shows below a command."""
    _, _, rest = PAGE.partition(f"{command}\n```\n")
    assert rest, f"{command} is not shown"
    return re.search(r"\n(`{3,})\w+\n(.*?)\n\1\n", rest, re.S)[2]


def access_until(moment: datetime) -> World:
    """Return the deliveries until then of what decides access, and no others."""
    world = delivered_until(sample(), moment)
    return {
        table: rows if table in ACCESS_TABLES else [] for table, rows in world.items()
    }


def test_T5_the_page_shows_what_changed_in_may():
    moments = [datetime(2026, month, 1) for month in (5, 6)]
    schemas = [f"secure_datasets_as_of_{each:%Y%m%d}_000000" for each in moments]
    compared = Compared(*map(access_until, moments)).without_secure_datasets()
    report = compared.compare().report_of_past_states(*schemas)
    said = shown(f"secure-datasets diff {schemas[0]} {schemas[1]}")
    assert said.count(CUT) >= 3
    for piece in said.split(CUT):
        _, found, report = report.partition(piece)
        assert found, f"not in the report, or not in this order: {piece}"


def test_T1_the_page_shows_the_deliveries_that_were_there():
    moment = datetime(2026, 5, 1)
    rows = re.findall(
        r"^(\w[\w ]*?) +(\d+) +(\d+) +(\d+)$",
        shown("secure-datasets as-of 2026-05-01"),
        re.M,
    )
    assert {table for table, *_ in rows[:-1]} >= {*ACCESS_TABLES}
    sums = [0, 0, 0]
    for table, *numbers in rows[:-1]:
        times = [load_time(row) for row in sample()[table]]
        there = [time for time in times if time is None or time <= moment]
        found = [len(there), len(times) - len(there), times.count(None)]
        assert found == [*map(int, numbers)], table
        sums = [a + b for a, b in zip(sums, found, strict=True)]
    assert rows[-1] == ("all of them", *map(str, sums))


@pytest.mark.parametrize(
    ("command", "is_asked"),
    [
        ("secure-datasets timeline anyberg", lambda key: key[1] == USERS["anyberg"]),
        ("secure-datasets timeline --object 'Project 8'", lambda key: key[3] == 8),
    ],
)
def test_T4_the_page_shows_when_access_began_and_ended(command, is_asked):
    _, _, table = shown(command).partition("---\n")
    found = [re.split(" {2,}", line) for line in table.splitlines()]
    expected = [change for change in timeline(sample()) if is_asked(change.key)]
    assert sorted(line[:6] for line in found) == sorted(map(as_told, expected))
    assert [line[0] for line in found] == sorted(line[0] for line in found)
    for when, *_, rows in found:
        for name, row_id, effect in re.findall(r"(\w+) (\d+) (gives|takes)", rows):
            (now,) = {
                row["is_active"]
                for row in sample()[name]
                if row["id"] == row_id and row["sf_date_created"] == when
            }
            assert now == ("true" if effect == "gives" else "false")


def as_told(change: AccessChange) -> list[str]:
    """Return a change as a line of the page, without the rows that made it."""
    tier, user, source, project = change.key
    of_results = tier == "results"
    kind = "changed" if change.had and change.has else "lost"
    types = [change.access_type_before, change.access_type]
    return [
        str(change.at),
        LOGINS[user],
        tier.replace("_", " "),
        " in ".join(
            name for name in (SOURCES.get(source), PROJECTS.get(project)) if name
        ),
        kind if change.had else "gained",
        "-" if of_results else " > ".join(each for each in types if each),
    ]
