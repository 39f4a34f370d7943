"""The year of the sample: what its page tells is what its deliveries make."""

from __future__ import annotations

import pytest
from oracle.contract import (
    ACCESS_TABLES,
    access_state,
    load_time,
    loaded_until,
)
from sample_history import MOMENTS, expected_access, ids, sample


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
