"""Random policies over random rows show what the oracle of the policies says.

`WORLDS` in the environment says how many cases: 200 unless it is given.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from policy_battery import Battery
from policy_sandbox import Sandbox

CASES = int(os.environ.get("WORLDS", "200"))
IN_A_BATTERY = 20


@pytest.mark.parametrize("first", range(0, CASES, IN_A_BATTERY))
def test_what_users_see_is_what_the_evaluator_says(first):
    battery = Battery(Sandbox(), range(first, min(first + IN_A_BATTERY, CASES)))
    # By chance, the cases of other seeds may lack one.
    if not first:
        battery.show_every_rule()
    differing = battery.differences()
    assert not differing, next(iter(differing.items()))


def test_S7_both_forms_of_a_security_object_give_the_same_rows_as_often():
    battery = Battery(Sandbox(), range(30, 50), only_queries=True)
    for form in (True, False):
        for case in battery.cases.values():
            if case.security:
                case.security = replace(case.security, use_filter_key=form)
        assert not battery.differences(), form
