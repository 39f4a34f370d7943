"""Random policies over random rows come out as the evaluator of the policies says."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pipeline import SESSIONS, session_settings
from policy_battery import Battery

pytestmark = pytest.mark.spark

CASES = 15
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


def test_S7_both_forms_of_a_security_object_give_the_same_rows_as_often(spark):
    battery = Battery(spark, range(2 * CASES, 2 * CASES + 8), only_queries=True)
    for form in (True, False):
        for case in battery.cases.values():
            if case.security:
                case.security = replace(case.security, use_filter_key=form)
        assert not battery.differences(), form
