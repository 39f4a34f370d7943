"""Random policies over random rows show what the oracle of the policies says.

`WORLDS` in the environment says how many cases: 200 unless it is given.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from policy_battery import Battery
from policy_sandbox import Sandbox, view_name

LAWS = {
    "assert_visible_rows_meet_every_rule",
    "assert_rows_that_meet_every_rule_are_visible",
    "assert_masks_are_put_on_and_change_nothing_else",
}
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
    # They cost more than the comparison.
    if not first % (5 * IN_A_BATTERY):
        assert not battery.broken_laws(LAWS)


def test_the_laws_of_the_rules_notice_rows_and_values_that_random_rules_hide():
    battery = Battery(Sandbox(), range(8))
    battery.found()
    found = set()
    for seed, case in battery.cases.items():
        for dataset in case.datasets:
            if dataset.below or not case.of(dataset.name)[0]:
                continue
            columns = ", ".join(dataset.columns)
            view = view_name(f"{seed}_vw_secure_dataset_{dataset.name}")
            base = view_name(f"{seed}_all_runs")
            users = view_name(f"{seed}_stg_users")
            battery.sandbox.view(
                view, f"select {columns}, user_id from {base} cross join {users}"
            )
            found |= {name for _, name in battery.broken_laws(LAWS)}
            battery.sandbox.view(
                view, f"select {columns}, 1 as user_id from {base} where false"
            )
            found |= {name for _, name in battery.broken_laws(LAWS)}
    assert found == LAWS


def test_S7_both_forms_of_a_security_object_give_the_same_rows_as_often():
    battery = Battery(Sandbox(), range(30, 50), only_queries=True)
    for form in (True, False):
        for case in battery.cases.values():
            if case.security:
                case.security = replace(case.security, use_filter_key=form)
        assert not battery.differences(), form
