"""Random policies over random rows come out as the oracle of the policies says.

`RANDOM_POLICIES=400` in the environment looks at 400 cases instead of 30.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from pipeline import SESSIONS, session_settings
from policy_battery import Battery

pytestmark = pytest.mark.spark

# Spark plans the queries of more at once in more than their share of time.
CASES = 15
ALL_CASES = int(os.environ.get("RANDOM_POLICIES", CASES * len(SESSIONS)))
BATTERIES = [
    pytest.param(
        range(first, min(first + CASES, ALL_CASES)),
        *SESSIONS[number % len(SESSIONS)],
        id=f"cases from {first}",
    )
    for number, first in enumerate(range(0, ALL_CASES, CASES))
]


@pytest.mark.parametrize(("seeds", "zone", "ansi"), BATTERIES)
def test_what_users_see_is_what_the_evaluator_says(spark, seeds, zone, ansi):
    battery = Battery(spark, seeds)
    # By chance, the cases of other seeds may lack one.
    if seeds.stop <= CASES * len(SESSIONS):
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
