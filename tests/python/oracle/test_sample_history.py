"""The year of the sample: what its page tells is what its deliveries make."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime

import pytest
from oracle.contract import (
    ACCESS_TABLES,
    BIGINT,
    TABLES,
    UNREADABLE,
    access_state,
    load_time,
    loaded_until,
    read_value,
    stage,
)
from projects import ROOT
from sample_history import MOMENTS, expected_access, ids, sample

PAGE = (ROOT / "docs/sample-organisation.md").read_text(encoding="utf-8")


def described(keys) -> list[tuple]:
    """Return keys with the names of what they are about, to be read."""
    names = [
        {number: name for name, number in ids(table, column).items()}
        for table, column in (
            ("users", "login_name"),
            ("meta_data_sources", "name"),
            ("projects", "name"),
        )
    ]
    return sorted(
        (tier, *(known.get(each, "") for known, each in zip(names, key, strict=True)))
        for tier, *key in keys
    )


@pytest.mark.parametrize("moment", MOMENTS, ids=lambda moment: str(moment.date()))
def test_T1_a_day_of_the_sample_is_as_a_person_worked_it_out(moment):
    found = {*access_state(loaded_until(sample(), moment))}
    expected = expected_access(moment)
    assert described(found - expected) == described(expected - found) == []
    assert len(expected) > 20


def test_T1_no_two_of_the_days_are_alike():
    states = [frozenset(expected_access(moment)) for moment in MOMENTS]
    assert len({*states}) == len(MOMENTS) == 5
    assert frozenset(access_state(sample())) not in states


def test_the_sample_is_delivered_by_a_nightly_load():
    rows = [row for table in ACCESS_TABLES for row in sample()[table]]
    times = [load_time(row) for row in rows]
    assert {(time.hour, time.minute) for time in times} == {(2, 15)}
    assert {time.month for time in times} == {*range(1, 11)}


def test_the_page_counts_the_deliveries():
    told = re.findall(r"^\| (\w+) \| (\d+) \| (\d+) \| (\d+) \|$", PAGE, re.M)
    assert [table for table, *_ in told] == [*TABLES]
    staged = stage(sample())
    for table, *numbers in told:
        rows = sample()[table]
        read = {read_value(BIGINT, row["id"]) for row in rows} - {None, UNREADABLE}
        found = [len(rows), len(read), len(staged.live(table))]
        assert found == [*map(int, numbers)], table


def test_the_page_counts_who_could_see_what_on_each_day():
    told = re.findall(r"^\| (2026-\S+) \| (\d+) \| (\d+) \| (\d+) \|", PAGE, re.M)
    assert [day for day, *_ in told] == [str(moment.date()) for moment in MOMENTS]
    for moment, (_, *numbers) in zip(MOMENTS, told, strict=True):
        tiers = Counter(tier for tier, *_ in expected_access(moment))
        found = [tiers[tier] for tier in ("data_source", "project", "results")]
        assert found == [*map(int, numbers)], moment


def test_each_row_that_the_page_names_was_loaded_in_or_about_its_month():
    section = PAGE.split("\n## The year\n")[1].split("\n### ")[0]
    lines = re.findall(r"^\| ([A-Z]\w+) \| .* \| (\w+ \d+.*) \|$", section, re.M)
    assert [month for month, _ in lines] == [
        *("January", "February", "March", "April", "May", "June", "July", "August"),
        "September",
    ]
    for number, (_, told) in enumerate(lines, start=1):
        begins, ends = datetime(2026, number, 2), datetime(2026, number + 1, 2)
        for table, listed in re.findall(r"(\w+) ([\d, ]+)", told):
            for row_id in re.findall(r"\d+", listed):
                rows = [row for row in sample()[table] if row["id"] == row_id]
                times = [load_time(row) for row in rows]
                assert any(begins <= each < ends for each in times), (table, row_id)
