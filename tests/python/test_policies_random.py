"""Random policies over random rows come out as the evaluator of the policies says."""

from __future__ import annotations

import pytest
from pipeline import SESSIONS, session_settings
from policy_battery import Battery

pytestmark = pytest.mark.spark

CASES = 16
BATTERIES = [
    pytest.param(range(number * CASES, (number + 1) * CASES), *session, id=str(session))
    for number, session in enumerate(SESSIONS)
]


@pytest.mark.parametrize(("seeds", "zone", "ansi"), BATTERIES)
def test_what_users_see_is_what_the_evaluator_says(spark, seeds, zone, ansi):
    battery = Battery(spark, seeds)
    battery.show_every_rule()
    with session_settings(spark, zone, ansi):
        differing = battery.differences()
    assert not differing, next(iter(differing.items()))
