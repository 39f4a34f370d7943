"""Random policies over random rows show what the oracle of the policies says.

`WORLDS` in the environment says how many cases: 200 unless it is given.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from types import SimpleNamespace

import pytest
from policy_battery import Battery
from policy_sandbox import Sandbox, view_name
from projects import ROOT

from secure_datasets.engines.duckdb import DuckDB

LAWS = {
    "assert_visible_rows_meet_every_rule",
    "assert_rows_that_meet_every_rule_are_visible",
    "assert_masks_are_put_on_and_change_nothing_else",
}
LAWS_OF_TIERS = {
    "assert_granted_rows_are_in_secure_datasets",
    "assert_rows_for_everyone_come_once",
    "assert_secure_rows_have_a_grant",
    "assert_unknown_is_seen_by_nobody",
}
USERS_VIEW = view_name("stg_users")
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
    # Also of datasets over others, which have no tier.
    noticed = {is_over: set() for is_over in (False, True)}
    for seed, case in battery.cases.items():
        for dataset in case.datasets:
            if not any(case.of(dataset.name)) or dataset.is_query:
                continue
            below = dataset.below and f"vw_secure_dataset_{dataset.below}"
            columns = ", ".join(dataset.columns)
            view = view_name(f"{seed}_vw_secure_dataset_{dataset.name}")
            rows = view_name(f"{seed}_{below or 'all_runs'}")
            users = "" if below else f" cross join {view_name(f'{seed}_stg_users')}"
            for rows_shown in (
                f"select {columns}, user_id from {rows}{users}",
                f"select {columns}, 1 as user_id from {rows} where false",
            ):
                battery.sandbox.view(view, rows_shown)
                noticed[bool(below)] |= {
                    law
                    for (_, law), found in battery.broken_laws(LAWS, [seed]).items()
                    if dataset.name in [name for name, *_ in found]
                }
            made = battery.macros(seed).secure_dataset(dataset.name)
            battery.sandbox.view(view, made)
    assert noticed == {False: LAWS, True: LAWS}


def test_a_dataset_refers_to_no_relation_that_its_query_does_not_name():
    """A run refuses it: the query may hold values of what it read."""
    battery = Battery(Sandbox(), range(40))
    for seed, case in battery.cases.items():
        macros, referred = battery.macros(seed), set()
        macros.stand_in(ref=lambda name, to=referred: to.add(name) or view_name(name))
        for dataset in case.datasets:
            referred.clear()
            query = macros.secure_dataset(dataset.name)
            unnamed = {name for name in referred if view_name(name) not in query}
            # Every dataset depends on what the rules of any look up.
            assert unnamed <= {"staff"}, (seed, dataset.name)


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


def test_a_row_for_everyone_with_a_mask_is_there_once_for_each_live_user(star):
    policy = {"role": "B", "resource": "news.reach", "mask": "'*'"}
    view = star.secure(of_a_star([policy]), "news")
    assert star.rows(f"select user_id, news_id from {view}") == [(1, 7)]


def test_M8_a_row_for_everyone_below_a_mask_is_there_once_for_each_live_user(star):
    policy = {"role": "B", "resource": "notes.reach", "mask": "'*'"}
    document = of_a_star([policy])
    star.secure(document, "news")
    view = star.secure(document, "notes")
    assert star.rows(f"select user_id, news_id from {view}") == [(1, 7)]


def of_related(policies: list[dict]) -> str:
    """Return the config, whose query no key restricts."""
    document = json.loads(of_a_star(policies))
    document["row_security"][0]["scope"] = "related"
    return json.dumps(document)


@pytest.mark.parametrize(
    ("name", "config", "law"),
    [
        ("news", of_a_star, "assert_rows_that_meet_every_rule_are_visible"),
        ("totals", of_a_star, "assert_answers_are_complete"),
        ("totals", of_related, "assert_answers_are_complete"),
    ],
)
def test_no_law_misses_a_row_for_a_user_who_is_not_live(star, name, config, law):
    star.types["vw_secure_dataset_totals"] = {"unit": "string", "total": "bigint"}
    column = "reach" if name == "news" else "total"
    masked = {"role": "B", "resource": f"{name}.{column}", "mask": "null"}
    document = config([masked])
    for each in ("news", "notes", "totals"):
        star.secure(document, each)
    macros, text = star.macros(document), (ROOT / f"tests/dbt/{law}.sql").read_text()
    assert star.rows(macros.rendered(text)) == []
    nothing = f"select * from ({macros.secure_dataset(name)}) limit 0"
    star.view(view_name(f"vw_secure_dataset_{name}"), nothing)
    missed = star.rows(macros.rendered(text))
    assert {(dataset, user) for dataset, _, user in missed} == {(name, 1)}


def test_S8_a_law_names_who_is_not_live_and_gets_an_answer_by_a_key(star):
    document = of_a_star([])
    macros = star.macros(document)
    answers = macros.secure_dataset("totals")
    star.view(
        view_name("vw_secure_dataset_totals"),
        f"select unit, total, 2 as user_id from ({answers})",
    )
    text = (ROOT / "tests/dbt/assert_users_without_keys_get_no_answer.sql").read_text()
    assert star.rows(macros.rendered(text)) == [("totals", "X", 2)]


def test_S22_a_relation_of_the_star_with_a_key_twice_is_named(star):
    """The other laws join it as the query does, and so count its rows twice too."""
    units = [(10, "X"), (10, "Y"), (20, "X"), (None, "Y"), (None, "X")]
    star.table("teams", "team_id bigint, unit string", units)
    law = "assert_joined_relations_have_their_keys_once"
    text = (ROOT / f"tests/dbt/{law}.sql").read_text()
    rows = star.rows(star.macros(of_a_star([])).rendered(text))
    assert rows == [("runs", "teams", "10", 2)]


def test_Z5_the_predicates_of_a_query_are_true_of_nothing_for_who_is_not_live(star):
    macros = star.macros(of_a_star([]))
    parsed = macros.secure_datasets_config()
    for user, rows in ((1, 1), (2, 0)):
        counted = macros.row_predicate("totals", parsed, str(user), "f")
        runs = view_name("runs")
        assert len(star.rows(f"select * from {runs} as f where {counted}")) == rows
        shown = macros.answer_predicate("totals", parsed, str(user), "f")
        answer = "select 'X' as unit, 1 as total"
        assert len(star.rows(f"select * from ({answer}) as f where {shown}")) == rows


def test_W1_the_rows_of_a_dataset_over_another_are_judged_for_each_user_once(star):
    news = [(7, "World"), (8, "Team")]
    star.table("all_news", "news_id bigint, reach string", news)
    star.table("access", "team_id bigint, user_id bigint", [(8, 1)])
    policy = {"role": "A", "resource": "notes", "condition": "news_id > 0"}
    for policies in ([], [policy]):
        document = of_a_star(policies)
        star.secure(document, "news")
        macros = star.macros(document)
        query = macros.gates_query(
            "notes", macros.secure_datasets_config(), f"select * from {USERS_VIEW}"
        )
        found = star.rows(f"select news_id, user_id, is_live, is_public from ({query})")
        # A policy looks at each user.
        assert found == [
            (7, 1, True, not policies),
            (7, 2, False, not policies),
            (8, 1, True, False),
        ]


def test_R15_laws_know_what_the_tier_carries_of_a_dataset_over_another(star):
    document = json.loads(of_a_star([]))
    document["tiers"]["team"]["carries"] = ["kind"]
    document["policies"] = [
        {"role": "A", "resource": "notes", "condition": "kind = 'User'"},
        {
            "role": "*",
            "resource": "notes.reach",
            "mask": "'-'",
            "condition": "kind < 'X'",
        },
    ]
    config = json.dumps(document)
    star.table("all_news", "news_id bigint, reach string", [(1, "Team"), (2, "Team")])
    keys = [(1, 1, "User"), (2, 1, "Group")]
    star.table("access", "team_id bigint, user_id bigint, kind string", keys)
    star.secure(config, "news")
    view = star.secure(config, "notes")
    assert star.rows(f"select * from {view}") == [(1, "-", 1, "User")]
    macros = star.macros(config)
    laws = {law: (ROOT / f"tests/dbt/{law}.sql").read_text() for law in LAWS}
    assert [star.rows(macros.rendered(text)) for text in laws.values()] == [[]] * 3
    star.view(view, f"select * from {view_name('vw_secure_dataset_news')}")
    found = star.rows(macros.rendered(laws["assert_visible_rows_meet_every_rule"]))
    assert found == [("notes", "2", 1)]


def test_W1_a_column_of_a_dataset_over_another_is_not_taken_for_what_is_for_everyone(
    star,
):
    document = json.loads(of_a_star([]))
    for name in ("news", "notes"):
        document["datasets"][name]["columns"].append("is_public")
    star.table(
        "all_news",
        "news_id bigint, reach string, is_public boolean",
        [(7, "World", False), (8, "Team", True)],
    )
    star.table("access", "team_id bigint, user_id bigint", [(8, 1)])
    star.secure(json.dumps(document), "news")
    macros = star.macros(json.dumps(document))
    query = macros.gates_query(
        "notes", macros.secure_datasets_config(), "select 1 as user_id, true as is_live"
    )
    found = star.rows(f"select news_id, is_public from ({query})")
    assert found == [(7, True), (8, False)]


def test_W1_columns_of_the_base_are_not_taken_for_those_of_the_users(star):
    """The dataset has none of the first; by the second its switch decides."""
    document = json.loads(of_a_star([{"role": "A", "resource": "news"}]))
    news = document["datasets"]["news"]
    news["columns"][1] = document["datasets"]["notes"]["columns"][1] = "is_live"
    cases = news["switch"]["cases"].values()
    news["switch"] = {
        "column": "is_live",
        "cases": dict(zip(("yes", "no"), cases, strict=True)),
    }
    star.table(
        "all_news",
        "news_id bigint, user_id bigint, is_live string",
        [(7, 3, "no"), (8, 3, "yes")],
    )
    star.table("access", "team_id bigint, user_id bigint", [(8, 1)])
    star.roles({1: ["A"], 3: []}, inactive=[2])
    config = json.dumps(document)
    view, macros = star.secure(config, "news"), star.macros(config)
    seen = [(7, 1), (8, 1)]
    assert star.rows(f"select news_id, user_id from {view}") == seen
    star.secure(config, "notes")
    laws = [(ROOT / f"tests/dbt/{law}.sql").read_text() for law in LAWS]
    assert [star.rows(macros.rendered(text)) for text in laws] == [[]] * len(laws)
    query = macros.gates_query(
        "news", macros.secure_datasets_config(), f"select * from {USERS_VIEW}"
    )
    found = star.rows(
        f"select news_id, user_id, rule_1 and (case_2 or case_1_first) from ({query})"
    )
    assert [row[:2] for row in found] == [(n, u) for n in (7, 8) for u in (1, 2, 3)]
    assert [row[:2] for row in found if row[2]] == seen


@pytest.mark.parametrize("column", ["rule_1", "case_1", "is_there", "asked_is_live"])
def test_W1_a_column_is_not_taken_for_the_result_of_a_gate(star, column):
    star.table("access", "team_id bigint, user_id bigint", [(8, 1)])
    found = []
    for name in ("plain", column):
        policies = [{"role": "A", "resource": "news", "condition": f"{name} < 6"}]
        document = json.loads(of_a_star(policies))
        document["datasets"]["news"]["columns"].append(name)
        rows = [(7, "World", 5), (8, "Team", 9)]
        star.table("all_news", f"news_id bigint, reach string, {name} bigint", rows)
        macros = star.macros(json.dumps(document))
        query = macros.gates_query(
            "news", macros.secure_datasets_config(), f"select * from {USERS_VIEW}"
        )
        gates = "news_id, user_id, is_live, is_public, case_1, case_2, rule_1"
        found.append(star.rows(f"select {gates} from ({query})"))
    assert found[0] == found[1]
    assert {row[-1] for row in found[0]} == {True, False}


def test_W1_the_laws_tell_rows_with_a_null_key_apart(star):
    policies = [
        {"role": "A", "resource": "sums", "condition": "total > 0"},
        {"role": "*", "resource": "sums.total", "mask": "total + 1"},
    ]
    document = json.loads(of_related(policies))
    base = "vw_secure_dataset_totals"
    document["datasets"]["sums"] = {
        "base": base,
        "columns": ["unit", "total"],
        "unique_key": ["unit"],
    }
    config = json.dumps(document)
    star.secure(config, "news")
    totals = star.secure(config, "totals")
    # A run without a team has no unit.
    assert star.rows(f"select unit, total from {totals}") == [("X", 1), (None, 2)]
    view, macros = star.secure(config, "sums"), star.macros(config)
    laws = {law: (ROOT / f"tests/dbt/{law}.sql").read_text() for law in LAWS}
    assert [star.rows(macros.rendered(text)) for text in laws.values()] == [[]] * 3
    star.view(view, f"select unit, total, cast(1 as bigint) as user_id from {totals}")
    masks = laws["assert_masks_are_put_on_and_change_nothing_else"]
    assert len(star.rows(macros.rendered(masks))) == 2


@pytest.mark.parametrize("is_masked", [False, True])
def test_W1_the_laws_tell_rows_apart_by_each_part_of_their_key(is_masked):
    """Also by one that is null, or that has the sign between the parts."""
    star = Sandbox()
    star.engine = DuckDB(fingerprints=True)
    star.roles({1: ["A"], 2: []})
    # A team's rows and those for everyone.
    news = [
        (10, *key, reach)
        for reach in ("Team", "World")
        for key in [(f"{reach}/b", "c"), (reach, "b/c"), (None, reach), (reach, None)]
    ]
    columns = ["team_id", "part", "code", "reach"]
    kinds = "team_id bigint, part string, code string, reach string"
    star.table("all_news", kinds, news)
    star.table("access", "team_id bigint, user_id bigint", [(10, 1)])
    document = json.loads(of_a_star([]))
    document["datasets"] = {"news": document["datasets"]["news"]}
    document["datasets"]["news"] |= {"columns": columns, "unique_key": columns[1:3]}
    document["datasets"]["news"]["switch"]["cases"]["Team"]["keys"] = {
        "team_id": "team_id"
    }
    if is_masked:
        masked = {"role": "A", "resource": "news.reach", "mask": "'*'"}
        document["policies"] = [masked]
    config = json.dumps(document)
    view, macros = star.secure(config, "news"), star.macros(config)
    laws = [(ROOT / f"tests/dbt/{law}.sql").read_text() for law in LAWS | LAWS_OF_TIERS]
    assert [star.rows(macros.rendered(text)) for text in laws] == [[]] * len(laws)
    rows = star.rows(f"select * from {view}")
    assert len(rows) == (12 if is_masked else 8)
    for number, row in enumerate(rows):
        star.load(view, star.columns(view), rows[:number] + rows[number + 1 :])
        found = [each for text in laws for each in star.rows(macros.rendered(text))]
        assert "/".join(filter(None, row[1:3])) in {key for _, key, *_ in found}, row


def test_M8_a_law_names_rows_of_a_dataset_over_another_that_has_no_rules(star):
    star.table("all_news", "news_id bigint, reach string", [(7, "World"), (8, "Team")])
    star.table("access", "team_id bigint, user_id bigint", [(8, 1)])
    document = of_a_star([])
    star.secure(document, "news")
    view, macros = star.secure(document, "notes"), star.macros(document)
    law = (ROOT / "tests/dbt/assert_layered_rows_are_those_below.sql").read_text()
    assert star.rows(macros.rendered(law)) == []
    columns = {"news_id": "bigint", "reach": "string", "user_id": "bigint"}
    star.load(view, columns, [(7, "World", None), (7, "World", 1)])
    found = star.rows(macros.rendered(law))
    assert found == [("notes", "7", 1), ("notes", "8", 1)]


def test_M14_who_counts_the_rules_of_a_dataset_over_another(star):
    policies = [
        {"role": "A", "resource": "notes", "condition": "news_id < 9"},
        {"role": "*", "resource": "notes.reach", "mask": "concat(reach, '')"},
    ]
    document = of_a_star(policies)
    star.table("all_news", "news_id bigint, reach string", [(7, "World"), (9, "World")])
    star.secure(document, "news")
    macros, printed = star.macros(document), []
    for user in (1, 2):
        of_user = macros.shown(user).rules
        printed += of_user(lambda query: SimpleNamespace(rows=star.answer(query)))
    rules = ['condition of "A"', "mask on reach of everybody"]
    assert [row[1:] for row in printed] == [
        ["vw_secure_dataset_news", "lets through", "2"],
        [rules[0], "shows", "1"],
        [rules[1], "masks", "1"],
        [rules[1], "shows the value itself", "1"],
        ["all of them", "let through", "1"],
        # User 2 is not live.
        ["vw_secure_dataset_news", "lets through", "0"],
        [rules[0], "shows", "0"],
        [rules[1], "masks", "0"],
        ["all of them", "let through", "0"],
    ]


def test_a_query_with_a_mask_alone_is_answered_to_live_users_alone(star):
    policy = {"role": "B", "resource": "totals.total", "mask": "0"}
    document = json.loads(of_a_star([policy]))
    document["row_security"][0]["scope"] = "related"
    # As the documentation of the dataset has it, which a mask needs.
    star.types["vw_secure_dataset_totals"] = {"unit": "string", "total": "bigint"}
    view = star.secure(json.dumps(document), "totals")
    rows = star.rows(f"select user_id, unit, total from {view}")
    assert rows == [(1, "X", 1), (1, None, 2)]
