"""Random policies over random rows show what the oracle of the policies says.

`WORLDS` in the environment says how many cases: 80 unless it is given.
"""

from __future__ import annotations

import json
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
CASES = int(os.environ.get("WORLDS", "80"))
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
            found |= {name for _, name in battery.broken_laws(LAWS, [seed])}
            battery.sandbox.view(
                view, f"select {columns}, 1 as user_id from {base} where false"
            )
            found |= {name for _, name in battery.broken_laws(LAWS, [seed])}
    assert found == LAWS


def test_S7_both_forms_of_a_security_object_give_the_same_rows_as_often():
    battery = Battery(Sandbox(), range(30, 50), only_queries=True)
    for form in (True, False):
        for case in battery.cases.values():
            if case.security:
                case.security = replace(case.security, use_filter_key=form)
        assert not battery.differences(), form


def of_a_star(policies: list[dict]) -> str:
    """Return a config with a query over a star, and one dataset over another."""
    document = {
        "tiers": {
            "team": {
                "access_view": "access",
                "object_keys": ["team_id"],
                "carries": [],
            }
        },
        "relations": {
            "runs": {
                "kind": "fact",
                "columns": {"team_id": "bigint", "amount": "bigint"},
            },
            "teams": {
                "kind": "dimension",
                "columns": {"team_id": "bigint", "unit": "string"},
            },
            "user_units": {
                "kind": "mapping",
                "columns": {"user_id": "bigint", "unit": "string"},
            },
        },
        "datasets": {
            "totals": {
                "columns": ["unit", "total"],
                "unique_key": ["unit"],
                "visible_to": "everyone",
                "query": {
                    "dimensions": {"unit": "teams.unit"},
                    "measures": {"total": "sum(runs.amount)"},
                },
            },
            "news": {
                "base": "all_news",
                "columns": ["news_id", "reach"],
                "unique_key": ["news_id"],
                "switch": {
                    "column": "reach",
                    "cases": {
                        "Team": {"tier": "team", "keys": {"team_id": "news_id"}},
                        "World": {"visible_to": "everyone"},
                    },
                },
            },
            "notes": {
                "base": "vw_secure_dataset_news",
                "columns": ["news_id", "reach"],
                "unique_key": ["news_id"],
            },
        },
        "row_security": [
            {
                "unique_name": "units",
                "object_type": "row_security",
                "label": "Units",
                "dataset": "user_units",
                "filter_key_column": "unit",
                "ids_column": "user_id",
                "id_type": "user",
                "scope": "fact",
            }
        ],
        "relationships": [
            {
                "from": {"dataset": "runs", "join_columns": ["team_id"]},
                "to": {"dataset": "teams"},
            },
            {
                "from": {"dataset": "teams", "join_columns": ["unit"]},
                "to": {"row_security": "units"},
            },
        ],
        "policies": policies,
    }
    return json.dumps(document)


@pytest.fixture
def star():
    """Two users, one of whom is not live, over runs of which one has no team."""
    sandbox = Sandbox()
    sandbox.table("runs", "team_id bigint, amount bigint", [(10, 1), (None, 2)])
    sandbox.table("teams", "team_id bigint, unit string", [(10, "X"), (None, "Y")])
    keys = [(user, unit) for user in (1, 2) for unit in "XY"]
    sandbox.table("user_units", "user_id bigint, unit string", keys)
    sandbox.table("all_news", "news_id bigint, reach string", [(7, "World")])
    sandbox.table("access", "team_id bigint, user_id bigint", [])
    sandbox.roles({1: ["A"], 2: []}, inactive=[2])
    return sandbox


def test_S8_a_null_leads_to_no_row_of_a_dimension_and_no_key_to_who_is_not_live(star):
    view = star.secure(of_a_star([]), "totals")
    assert star.rows(f"select user_id, unit, total from {view}") == [(1, "X", 1)]


def test_M8_a_row_for_everyone_below_a_mask_is_there_once_for_each_live_user(star):
    policy = {"role": "B", "resource": "notes.reach", "mask": "'*'"}
    document = of_a_star([policy])
    star.secure(document, "news")
    view = star.secure(document, "notes")
    assert star.rows(f"select user_id, news_id from {view}") == [(1, 7)]


def test_a_query_with_a_mask_alone_is_answered_to_live_users_alone(star):
    policy = {"role": "B", "resource": "totals.total", "mask": "0"}
    document = json.loads(of_a_star([policy]))
    document["row_security"][0]["scope"] = "related"
    # As the documentation of the dataset has it, which a mask needs.
    star.types["vw_secure_dataset_totals"] = {"unit": "string", "total": "bigint"}
    view = star.secure(json.dumps(document), "totals")
    rows = star.rows(f"select user_id, unit, total from {view}")
    assert rows == [(1, "X", 1), (1, None, 2)]
