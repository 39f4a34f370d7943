"""R: row conditions by role. Each test bears the number of the behaviour."""

from __future__ import annotations

import json

import pytest
from policy_sandbox import Sandbox, SparkSandbox, config
from rendering import Macros, Stopped

from secure_datasets.render.laws.roles import roles_of_policies

ALICE, BEN, CARL, DORA = 1, 2, 3, 4
RUNS = [
    (1, 10, "X", "Failed", 5),
    (2, 10, "X", "Passed", 7),
    (3, 10, "Y", "Failed", None),
    (4, 10, "Y", "Passed", 2),
    (5, 10, None, "Passed", 1),
    (6, 20, "X", "Failed", 9),
]
FAILED_OF_X = "role: A, resource: runs, condition: unit = 'X' and result = 'Failed'"
PASSED_OF_Y = "role: B, resource: runs, condition: unit = 'Y' and result = 'Passed'"
ALL = "role: C, resource: runs, condition: true"


@pytest.fixture(scope="module")
def sandbox():
    """Runs of two teams; everybody is in team 10, Dora in team 20 as well."""
    return filled(Sandbox())


def filled(sandbox: Sandbox) -> Sandbox:
    """Fill a sandbox with them."""
    schema = "run_id bigint, team_id bigint, unit string, result string, amount bigint"
    sandbox.table("all_runs", schema, RUNS)
    members = [(10, user) for user in (ALICE, BEN, CARL, DORA)] + [(20, DORA)]
    sandbox.table("team_access", "team_id bigint, user_id bigint", members)
    sandbox.table("allowed", "unit string, role string", [("X", "A"), (None, "B")])
    return sandbox


@pytest.fixture
def seen(sandbox):
    """Who sees which runs under these policies and roles."""

    def call(roles: dict[int, list[str]], *policies: str) -> dict[int, list[int]]:
        sandbox.roles(roles)
        view = sandbox.secure(config(*policies), "runs")
        found = sandbox.rows(f"select user_id, run_id from {view}")
        return {user: [run for seer, run in found if seer == user] for user, _ in found}

    return call


def test_R0_a_dataset_without_a_policy_is_seen_by_its_tier_alone(seen):
    everyone = {user: [1, 2, 3, 4, 5] for user in (ALICE, BEN, CARL)}
    assert seen({ALICE: ["A"]}) == everyone | {DORA: [1, 2, 3, 4, 5, 6]}


def test_R21_a_group_by_its_id_is_a_role_whatever_its_name(seen, sandbox):
    by_id = "role: {group: 17}, resource: runs, condition: unit = 'X'"
    roles = {ALICE: [17], BEN: ["17", "group 17"], CARL: ["A", 18], DORA: [17, "A"]}
    assert seen(roles, by_id) == {ALICE: [1, 2], DORA: [1, 2, 6]}
    # Beside a name that is spelled as the id, in a condition and in a mask.
    namesake = "role: group 17, resource: runs, condition: unit = 'Y'"
    assert seen(roles, by_id, namesake) == {ALICE: [1, 2], BEN: [3, 4], DORA: [1, 2, 6]}
    mask = "except: [{group: 18}, A], resource: runs.amount, mask: 0"
    view = sandbox.secure(config(mask), "runs")
    found = sandbox.rows(f"select user_id from {view} where run_id = 1 and amount = 5")
    assert found == [(CARL,), (DORA,)]


def test_R1_a_condition_holds_wherever_the_dataset_is_used(sandbox):
    sandbox.roles({ALICE: ["A"], BEN: []})
    view = sandbox.secure(config(FAILED_OF_X), "runs")
    sandbox.view("policies_view_over_the_view", f"select run_id, user_id from {view}")
    for query in (
        f"select run_id from {view} where user_id = {ALICE}",
        f"select run_id from {view} where result in ('Failed', 'Passed')",
        f"select run_id from (select * from {view}) as inner_rows",
        f"select run_id from {view} where run_id in (select run_id from {view})",
        f"select run_id from {view} union select run_id from {view}",
        f"select a.run_id from {view} as a"
        " inner join policies_all_runs as b on a.run_id = b.run_id",
        f"select b.run_id from policies_all_runs as b left semi join {view} as a"
        " on a.run_id = b.run_id",
        "select run_id from policies_view_over_the_view",
        f"select max(run_id) from {view} group by unit",
    ):
        assert sandbox.rows(query) == [(1,)], query


@pytest.mark.parametrize(
    ("condition", "runs"),
    [
        ("amount between 2 and 7", [1, 2, 4]),
        ("not (unit = 'X')", [3, 4]),
        ("unit is null or amount is null", [3, 5]),
        ("case when unit = 'X' then amount > 5 else amount < 2 end", [2, 5]),
        ("lower(unit) like 'x%'", [1, 2]),
        ("(amount + 1) * 2 > 10", [1, 2]),
        ("unit in (select a.unit from {{ ref('allowed') }} as a)", [1, 2]),
        ("amount < 3 or unit in (select a.unit from {{ ref('allowed') }} as a)",
         [1, 2, 4, 5]),
        ("unit in (select a.unit from {{ ref('allowed') }} as a where a.role = 'Z')",
         []),
        ("unit not in (select a.unit from {{ ref('allowed') }} as a"
         " where a.unit is not null)", [3, 4]),
        # One of the units is null, so that no unit is known to be none of them.
        ("unit not in (select a.unit from {{ ref('allowed') }} as a)", []),
        ("amount = 1 or not (amount > 0 and unit in"
         " (select a.unit from {{ ref('allowed') }} as a))", [5]),
        ("amount > (select max(a.amount) - 3 from {{ ref('all_runs') }} as a)", [2]),
        ("user_id = run_id", [1]),
    ],
)  # fmt: skip
def test_R2_a_condition_is_any_boolean_sql_over_the_columns(seen, condition, runs):
    policy = f'role: A, resource: runs, condition: "{condition}"'
    assert seen({ALICE: ["A"]}, policy) == ({ALICE: runs} if runs else {})


@pytest.mark.parametrize(
    "other",
    ["a", "`A`", "A.b", "'A'", "A\\\\", "1 A", "A\x1f", "A\nB", "Ä\r\nA", "${A}"],
)
def test_R4_a_role_is_no_other_role_however_alike(seen, other):
    policies = [
        "role: A, resource: runs, condition: run_id = 1",
        f"role: {json.dumps(other)}, resource: runs, condition: run_id = 2",
    ]
    for order in (policies, policies[::-1]):
        found = seen({ALICE: ["A"], BEN: [other], CARL: ["A", other]}, *order)
        assert found == {ALICE: [1], BEN: [2], CARL: [1, 2]}


@pytest.mark.parametrize(
    ("role", "other"),
    [
        ("A", "a"),
        ("A B", "A  B"),
        ("A B", "a b"),
        ("\u00c4", "\u00e4"),
        ("\u00e9", "e\u0301"),
    ],
)
def test_R16_M12_no_rule_is_for_a_role_that_is_only_alike(seen, sandbox, role, other):
    hidden = [
        'role: "*", resource: runs',
        f"role: {json.dumps(role)}, resource: runs, as: restrictive,"
        " condition: run_id > 1",
        f"except: [{json.dumps(other)}], resource: runs, as: restrictive,"
        " condition: run_id <> 2",
        f"except: [{json.dumps(other)}], resource: runs.amount, mask: 0",
    ]
    for order in (hidden, hidden[::-1]):
        roles = {ALICE: [role], BEN: [other], CARL: [role, other]}
        assert seen(roles, *order) == {
            ALICE: [3, 4, 5],
            BEN: [1, 2, 3, 4, 5],
            CARL: [2, 3, 4, 5],
            DORA: [1, 3, 4, 5, 6],
        }
        shown = "select distinct user_id from policies_vw_secure_dataset_runs"
        assert sandbox.rows(f"{shown} where amount > 0") == [(BEN,), (CARL,)]


@pytest.mark.parametrize("space", [" ", "\n", "\r\n\t", "\u00a0", "\u2028\u3000"])
def test_R4_a_role_is_trimmed_as_staging_trims_the_name_of_a_group(seen, space):
    role = json.dumps(f"{space}A{space}")
    policy = f"role: {role}, resource: runs, condition: run_id = 1"
    assert seen({ALICE: ["A"], BEN: ["B"]}, policy) == {ALICE: [1]}
    with pytest.raises(Stopped, match="the role has a condition on the dataset alrea"):
        seen({}, policy, "role: A, resource: runs")


def test_R2_a_condition_may_ask_for_the_row_s_own_values_in_a_subquery(seen):
    policy = (
        'role: A, resource: runs, check: false, condition: "exists (select 1 from'
        " {{ ref('allowed') }} as a where a.unit = runs.unit)\""
    )
    assert seen({ALICE: ["A"]}, policy) == {ALICE: [1, 2]}


def test_R3_a_condition_is_anded_to_the_tier_and_to_a_reader_s_own_filter(
    sandbox, seen
):
    roles = {ALICE: ["A"], DORA: ["A"]}
    assert seen(roles, FAILED_OF_X) == {ALICE: [1], DORA: [1, 6]}
    view = "policies_vw_secure_dataset_runs"
    query = f"select run_id from {view} where amount > 5 or amount < 5"
    assert sandbox.rows(query) == [(6,)]


def test_R4_R6_several_roles_are_or_whole_predicate_by_whole_predicate(seen):
    roles = {ALICE: ["A", "B"], BEN: ["A"], CARL: ["B"]}
    assert seen(roles, FAILED_OF_X, PASSED_OF_Y) == {
        ALICE: [1, 4],
        BEN: [1],
        CARL: [4],
    }


def test_R6_an_or_in_a_condition_does_not_leave_its_role(seen):
    policies = (
        "role: A, resource: runs, condition: unit = 'X' or unit = 'Y'",
        "role: B, resource: runs, condition: result = 'Passed' or amount = 9",
    )
    assert seen({ALICE: ["A"], BEN: ["B"], CARL: ["Z"]}, *policies) == {
        ALICE: [1, 2, 3, 4],
        BEN: [2, 4, 5],
    }


@pytest.mark.parametrize("condition", [", condition: true", ", condition: 'true'", ""])
def test_R5_R9_a_role_with_true_or_no_condition_sees_every_row(seen, condition):
    policy = f"role: C, resource: runs{condition}"
    roles = {ALICE: ["A"], BEN: ["A", "C"], DORA: ["C"]}
    assert seen(roles, FAILED_OF_X, policy) == {
        ALICE: [1],
        BEN: [1, 2, 3, 4, 5],
        DORA: [1, 2, 3, 4, 5, 6],
    }


def test_R5_a_role_with_the_condition_false_sees_nothing_through_it(seen):
    policy = "role: C, resource: runs, condition: false"
    assert seen({ALICE: ["A", "C"], BEN: ["C"]}, FAILED_OF_X, policy) == {ALICE: [1]}


def test_R7_a_row_seen_through_two_roles_appears_once(seen):
    roles = {ALICE: ["A", "C", "D"]}
    again = "role: D, resource: runs, condition: result = 'Failed'"
    assert seen(roles, FAILED_OF_X, ALL, again) == {ALICE: [1, 2, 3, 4, 5]}


@pytest.mark.parametrize(
    ("condition", "is_seen"),
    [
        ("null", False),
        ("null or true", True),
        ("null or false", False),
        ("unit = 'X'", False),
        ("unit != 'X'", False),
        ("not (unit = 'X')", False),
        ("unit = 'X' or amount = 1", True),
        ("unit = 'X' or amount = 2", False),
        ("not (unit = 'X' and amount = 2)", True),
        ("unit is not distinct from null", True),
    ],
)
def test_R8_a_predicate_that_is_null_hides(seen, condition, is_seen):
    policy = f'role: A, resource: runs, condition: "{condition}"'
    # The fifth run has no unit.
    assert (5 in seen({ALICE: ["A"]}, policy).get(ALICE, [])) is is_seen


def test_R8_a_null_of_one_role_hides_nothing_that_another_shows(seen):
    null = "role: A, resource: runs, condition: 'null'"
    assert seen({ALICE: ["A", "C"], BEN: ["A"]}, null, ALL) == {ALICE: [1, 2, 3, 4, 5]}


def test_R9_a_user_with_none_of_the_declared_roles_sees_nothing(seen):
    roles = {BEN: ["Z"], CARL: [], DORA: ["a", "A "]}
    assert seen(roles, FAILED_OF_X, ALL) == {}


def test_R9_a_mask_alone_hides_no_row(seen):
    mask = "role: A, resource: runs.amount, mask: 0"
    assert seen({ALICE: ["A"]}, mask)[BEN] == [1, 2, 3, 4, 5]


def test_rows_for_everyone_are_looked_at_for_each_live_user(sandbox):
    dataset = """
        news:
            base: all_news
            columns: [news_id, reach, team_id]
            unique_key: [news_id]
            switch:
                column: reach
                cases:
                    Team: {tier: team, keys: {team_id: team_id}}
                    World: {visible_to: everyone}
    """
    sandbox.table(
        "all_news",
        "news_id bigint, reach string, team_id bigint",
        [(1, "Team", 20), (2, "World", None), (3, "World", 20), (4, "Moon", 20)],
    )
    sandbox.roles({ALICE: ["A"], BEN: ["B"], DORA: ["A"], 9: ["A"]}, inactive=[9])
    odd = config("role: A, resource: news, condition: news_id < 3", dataset=dataset)
    view = sandbox.secure(odd, "news")
    found = sandbox.rows(f"select user_id, news_id from {view}")
    assert found == [(ALICE, 2), (DORA, 1), (DORA, 2)]
    # Without a policy they bear no user, and are there once.
    view = sandbox.secure(config(dataset=dataset), "news")
    assert (None, 2) in sandbox.rows(f"select user_id, news_id from {view}")


def test_a_dataset_for_everyone_is_seen_by_its_conditions_alone(sandbox):
    dataset = (
        "runs: {base: all_runs, columns: [run_id, unit], unique_key: [run_id],"
        " visible_to: everyone}"
    )
    sandbox.roles({ALICE: ["A"], BEN: ["B"], 9: ["A"]}, inactive=[9])
    policy = "role: A, resource: runs, condition: unit = 'Y'"
    view = sandbox.secure(config(policy, dataset=dataset), "runs")
    found = sandbox.rows(f"select user_id, run_id from {view}")
    assert found == [(ALICE, 3), (ALICE, 4)]
    with pytest.raises(Stopped, match="needs a permissive condition, row security or"):
        mask = "role: A, resource: runs.unit, mask: \"'*'\""
        sandbox.secure(config(mask, dataset=dataset), "runs")


def test_a_reader_s_filter_reaches_the_scans_of_rights_and_roles(spark):
    sandbox = filled(SparkSandbox(spark))
    sandbox.roles({ALICE: ["A"]})
    mask = "role: A, resource: runs.amount, mask: 0"
    view = sandbox.secure(config(FAILED_OF_X, mask), "runs")
    ((plan,),) = sandbox.answer(f"explain select * from {view} where user_id = 1")
    # Both relations with users are filtered before they are joined.
    before_join = plan[plan.index("Join") :]
    assert before_join.count("= 1)") == 2, plan


EVERYBODY = 'role: "*", resource: runs'


def test_R17_everybody_is_every_live_user_with_or_without_a_role(sandbox):
    of_x = f"{EVERYBODY}, condition: unit = 'X'"
    # The group that is called so gives nothing beside.
    sandbox.roles({ALICE: ["A"], BEN: [], CARL: ["*"], DORA: []}, inactive=[9])
    for policies in ([of_x], [of_x, "role: A, resource: runs, condition: run_id = 3"]):
        view = sandbox.secure(config(*policies), "runs")
        found = sandbox.rows(f"select user_id, run_id from {view} where run_id < 6")
        own = [(ALICE, 3)] * (len(policies) - 1)
        everybody = [(user, run) for user in (ALICE, BEN, CARL, DORA) for run in (1, 2)]
        assert found == sorted([*everybody, *own])


@pytest.mark.parametrize(
    ("policies", "runs"),
    [
        # Nothing is permissive: the tier shows, and the restrictive ones take away.
        (["role: A, as: restrictive, condition: unit = 'X'"],
         {ALICE: [1, 2], BEN: [1, 2, 3, 4, 5], CARL: [1, 2]}),
        (["role: A, as: restrictive, condition: unit = 'X'",
          "role: B, as: restrictive, condition: amount > 5"],
         {ALICE: [1, 2], BEN: [2], CARL: [2]}),
        # Two of one role: each holds.
        (["role: A, as: restrictive, condition: unit = 'X'",
          "role: A, as: restrictive, condition: amount > 5"],
         {ALICE: [2], BEN: [1, 2, 3, 4, 5], CARL: [2]}),
        # A second role no longer opens what the first restricts.
        (["role: A", "role: B", "role: A, as: restrictive, condition: unit = 'X'"],
         {ALICE: [1, 2], BEN: [1, 2, 3, 4, 5], CARL: [1, 2]}),
        # Deny, and all except.
        (["role: \"*\"", "role: B, as: restrictive, condition: false"],
         {ALICE: [1, 2, 3, 4, 5], DORA: [1, 2, 3, 4, 5, 6]}),
        (["role: \"*\"", "except: [B], as: restrictive, condition: false"],
         {BEN: [1, 2, 3, 4, 5], CARL: [1, 2, 3, 4, 5]}),
        # Null hides, also from who holds no role at all.
        (["except: [B], as: restrictive, condition: amount < 3"],
         {ALICE: [4, 5], BEN: [1, 2, 3, 4, 5], CARL: [1, 2, 3, 4, 5], DORA: [4, 5]}),
        (["role: \"*\", as: restrictive, condition: amount < 3", "role: A"],
         {ALICE: [4, 5], CARL: [4, 5]}),
        # Who is shown nothing stays so.
        (["role: A", "except: [A], as: restrictive, condition: true"],
         {ALICE: [1, 2, 3, 4, 5], CARL: [1, 2, 3, 4, 5]}),
        (["role: A, as: permissive, condition: run_id = 1",
          "role: A, as: restrictive, condition: \"unit in (select a.unit from"
          " {{ ref('allowed') }} as a)\""],
         {ALICE: [1], CARL: [1]}),
    ],
)  # fmt: skip
def test_R16_a_row_is_seen_that_every_restrictive_condition_lets_through(
    seen, policies, runs
):
    roles = {ALICE: ["A"], BEN: ["B"], CARL: ["A", "B"], DORA: []}
    found = seen(roles, *(f"resource: runs, {policy}" for policy in policies))
    wanted = runs
    if not any(": restrictive" not in policy for policy in policies):
        wanted = {DORA: [1, 2, 3, 4, 5, 6]} | runs
    assert found == wanted


def test_R16_restrictive_conditions_alone_open_nothing_to_everyone(sandbox):
    dataset = (
        "runs: {base: all_runs, columns: [run_id, unit], unique_key: [run_id],"
        " visible_to: everyone}"
    )
    policy = "role: A, resource: runs, as: restrictive, condition: unit = 'Y'"
    with pytest.raises(Stopped, match="needs a permissive condition, row security or"):
        sandbox.secure(config(policy, dataset=dataset), "runs")


def test_R16_the_restrictive_rule_has_no_permissive_condition(sandbox):
    policies = ("condition: unit = 'X'", "as: restrictive, condition: amount > 1")
    macros = sandbox.macros(
        config(*(f"role: A, resource: runs, {policy}" for policy in policies))
    )
    rules = macros.rules(macros.secure_datasets_config())
    rule = rules.restrictive_rule("runs", "1")
    assert "amount > 1" in rule and "unit = 'X'" not in rule


def test_R16_restrictive_conditions_stand_in_the_messages_of_roles_that_are_missed():
    macros = Macros(config("role: A, resource: runs, as: restrictive, condition: true"))
    document = macros.secure_datasets_config()
    # Whoever is not known to hold the role is not restricted.
    assert roles_of_policies(document, str, of_masks_by_role=True) == [("A", "runs")]
