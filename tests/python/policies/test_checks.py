"""R10 to R13: rows that a role writes satisfy its condition."""

from __future__ import annotations

import pytest
from policy_sandbox import Sandbox, config
from rendering import Stopped

SCHEMA = "run_id bigint, team_id bigint, unit string, result string, amount bigint"
WRITTEN = [
    (1, 10, "X", "Failed", 5),
    (2, 10, "Y", "Failed", 5),
    (3, 10, None, "Failed", None),
    (3, 10, None, "Failed", None),
]
ONLY_X = "role: A, resource: runs, condition: unit = 'X'"


@pytest.fixture(scope="module")
def sandbox():
    """Rows about to be written, and the units that may be."""
    sandbox = Sandbox()
    sandbox.table("written", SCHEMA, WRITTEN)
    sandbox.table("allowed", "unit string", [("X",), (None,)])
    return sandbox


@pytest.fixture
def checked(sandbox):
    """Check the rows; return (run, reason), in order."""

    def call(*policies: str, role: str = "A", dataset: str = "runs") -> list[tuple]:
        macros = sandbox.macros(config(*policies))
        sql = macros.checked_rows(dataset, role, "policies_written")
        return sandbox.rows(f"select run_id, rejection_reason from ({sql}) as checked")

    return call


def reasons(reason: str | None, *others: str | None) -> list[tuple]:
    """The reason of each written row."""
    runs = [run for run, *_ in WRITTEN]
    return list(zip(runs, [reason, *others], strict=True))


NOT_X = "not true for role 'A': unit = 'X'"


def test_R10_a_group_by_its_id_writes_by_its_own_condition(checked):
    by_id = "role: {group: 17}, resource: runs, condition: unit = 'Y'"
    not_y = "not true for role 'group 17': unit = 'Y'"
    found = checked(ONLY_X, by_id, role={"group": 17})
    assert found == reasons(not_y, None, not_y, not_y)
    assert checked(ONLY_X, by_id) == reasons(None, NOT_X, NOT_X, NOT_X)
    none = "role 'group 18' has no policy on 'runs'"
    assert checked(ONLY_X, role={"group": 18}) == reasons(*[none] * 4)


def test_R10_a_row_must_satisfy_the_condition_of_the_role_and_null_fails(checked):
    assert checked(ONLY_X) == reasons(None, NOT_X, NOT_X, NOT_X)


@pytest.mark.parametrize(
    ("condition", "accepted"),
    [
        ("unit in (select a.unit from {{ ref('allowed') }} as a)", [1]),
        ("unit not in (select a.unit from {{ ref('allowed') }} as a)", []),
        ("unit = 'Y' or null", [2]),
        ("amount = 5 or unit is null", [1, 2, 3, 3]),
    ],
)
def test_R10_what_is_not_known_to_be_true_fails(checked, condition, accepted):
    found = checked(f'role: A, resource: runs, condition: "{condition}"')
    assert [run for run, reason in found if reason is None] == accepted


def test_R10_a_role_without_a_policy_on_the_dataset_may_write_nothing(checked):
    reason = "role 'B' has no policy on 'runs'"
    assert checked(ONLY_X, role="B") == reasons(*[reason] * 4)


def test_R10_a_role_without_a_condition_may_write_everything(checked):
    assert checked(ONLY_X, "role: B, resource: runs", role="B") == reasons(*[None] * 4)


def test_R10_a_dataset_without_conditions_has_no_check(checked):
    assert checked() == reasons(*[None] * 4)
    assert checked("role: A, resource: runs.amount, mask: 0") == reasons(*[None] * 4)


def test_R10_the_checks_of_other_roles_do_not_count(checked):
    other = "role: B, resource: runs, condition: unit = 'Y'"
    assert checked(ONLY_X, other) == reasons(None, NOT_X, NOT_X, NOT_X)


def test_R11_check_false_switches_the_check_off_and_not_the_read_filter(
    checked, sandbox
):
    policy = f"{ONLY_X}, check: false"
    assert checked(policy) == reasons(*[None] * 4)
    sandbox.table("all_runs", SCHEMA, WRITTEN)
    sandbox.table("team_access", "team_id bigint, user_id bigint", [(10, 1)])
    sandbox.roles({1: ["A"]})
    view = sandbox.secure(config(policy), "runs")
    assert sandbox.rows(f"select run_id from {view}") == [(1,)]


def test_R12_rows_are_split_into_accepted_and_rejected_and_none_is_lost(sandbox):
    sql = sandbox.macros(config(ONLY_X)).checked_rows("runs", "A", "policies_written")
    columns = "run_id, team_id, unit, result, amount"
    split = f"select {columns} from ({sql}) as checked where rejection_reason is"
    accepted = sandbox.rows(f"{split} null")
    rejected = sandbox.rows(f"{split} not null")
    assert accepted == WRITTEN[:1]
    assert sorted(accepted + rejected, key=repr) == sorted(WRITTEN, key=repr)


@pytest.mark.parametrize(
    "condition",
    [
        "exists (select 1 from {{ ref('allowed') }} as a where a.unit = runs.unit)",
        "unit in (select a.unit from {{ ref('allowed') }} as a"
        " where not (RUNS . amount > 1))",
        "(with u as (select 1 as n) select n = runs.amount from u order by n limit 1)",
        "amount > (select count(*) from {{ ref('allowed') }} as a"
        " where a.unit in (select x.unit from {{ ref('allowed') }} as x"
        " where x.unit = `runs`.`unit`))",
    ],
)
def test_R13_a_check_with_a_correlated_subquery_is_an_error(checked, condition):
    policy = f'role: A, resource: runs, condition: "{condition}"'
    with pytest.raises(Stopped, match=r"policy 1, role 'A' on 'runs': .* correlated"):
        checked(policy)
    # Of a condition that is no check, nothing is said.
    assert len(checked(f"{policy}, check: false")) == 4


def test_R13_a_subquery_must_say_whose_column_it_means(checked):
    condition = "unit in (select unit from {{ ref('allowed') }})"
    with pytest.raises(Stopped, match="names 'unit' in a subquery without"):
        checked(f'role: A, resource: runs, check: false, condition: "{condition}"')


def test_rows_are_not_checked_for_a_dataset_that_is_not_there(checked):
    with pytest.raises(Stopped, match="dataset 'walks': has no entry"):
        checked(ONLY_X, dataset="walks")


MORE = "resource: runs, as: restrictive, condition: amount > 5"


@pytest.mark.parametrize(
    ("policies", "accepted"),
    [
        (['role: "*", resource: runs, condition: amount = 5'], [1, 2]),
        ([ONLY_X, f"role: A, {MORE}"],
         []),
        ([ONLY_X, f"except: [B], {MORE}"],
         []),
        ([ONLY_X, f"except: [A], {MORE}"],
         [1]),
        ([ONLY_X, f"role: B, {MORE}"],
         [1]),
        ([ONLY_X, f'role: "*", {MORE}, check: false'], [1]),
        (['role: "*", resource: runs, as: restrictive, condition: unit is null'],
         [3, 3]),
    ],
)  # fmt: skip
def test_R16_a_row_that_is_written_must_satisfy_the_restrictive_conditions_too(
    checked, policies, accepted
):
    found = checked(*policies)
    assert [run for run, reason in found if reason is None] == accepted
    assert len(found) == len(WRITTEN)


@pytest.mark.parametrize(
    ("times", "wanted"),
    [("", 2), (", valid_from: 2999-01-01", 1), (", valid_until: 2999-01-01", 2)],
)
def test_R11_a_role_writes_by_everybody_s_condition_while_its_own_does_not_hold(
    checked, times, wanted
):
    everybody = "role: '*', resource: runs, condition: unit = 'X'"
    own = f"role: A, resource: runs, condition: unit = 'Y'{times}"
    accepted = [run for run, reason in checked(everybody, own) if reason is None]
    assert accepted == [wanted]


LAYERS = """
    runs: {base: all_runs, columns: [run_id, team_id, unit, result, amount],
        unique_key: [run_id], tier: team, keys: {team_id: team_id}}
    notes: {base: vw_secure_dataset_runs, columns: [run_id, unit, amount],
        unique_key: [run_id]}
"""


@pytest.fixture
def checked_above(sandbox):
    """Check the rows for the dataset `notes` over `runs`; return (run, reason)."""
    sandbox.table("staff", "user_id bigint, unit string", [(1, "X")])
    sandbox.table("team_access", "team_id bigint, user_id bigint, kind string", [])

    def call(*policies: str) -> list[tuple]:
        reader = "\nreader: {relation: staff, key: user_id}"
        document = config(*policies, dataset=LAYERS) + reader
        macros = sandbox.macros(document.replace("carries: []", "carries: [kind]"))
        sql = macros.checked_rows("notes", "A", "policies_written", "1")
        return sandbox.rows(f"select run_id, rejection_reason from ({sql}) as checked")

    return call


@pytest.mark.parametrize("unit", ["unit", "runs.unit", "`runs`.unit"])
def test_R10_a_row_must_satisfy_the_conditions_below_too(checked_above, unit):
    below = f"role: A, resource: runs, condition: \"{unit} = 'X'\""
    not_x = f"not true for role 'A': {unit} = 'X'"
    assert checked_above(below) == reasons(None, not_x, not_x, not_x)
    own = "role: A, resource: notes, condition: amount = 4"
    not_4 = "not true for role 'A': amount = 4"
    assert checked_above(below, own) == reasons(not_4, not_4, not_4, not_4)
    assert checked_above(f"{below}, check: false", own) == reasons(*[not_4] * 4)
    of_reader = "role: A, resource: runs, condition: runs.unit = reader.unit"
    assert [run for run, reason in checked_above(of_reader) if not reason] == [1]


def test_R10_a_role_without_a_policy_below_may_write_nothing(checked_above):
    own = "role: A, resource: notes, condition: amount = 5"
    not_5, none = (
        "not true for role 'A': amount = 5",
        "role 'A' has no policy on 'runs'",
    )
    found = checked_above(own, "role: B, resource: runs")
    assert found == reasons(none, none, not_5, not_5)


def test_R10_a_check_below_names_only_columns_that_are_there(checked_above):
    below = "role: A, resource: runs, condition: team_id = 10 and runs.result = 'x'"
    wanted = "'notes': lacks 'result', 'team_id', which a check of 'runs' names"
    with pytest.raises(Stopped, match=wanted):
        checked_above(below)
    assert checked_above(f"{below}, check: false") == reasons(*[None] * 4)


@pytest.mark.parametrize(
    ("column", "condition"), [("kind", "kind = 'User'"), ("user_id", "user_id = 1")]
)
def test_R10_a_check_names_no_column_that_no_written_row_has(
    checked_above, column, condition
):
    own = f'role: A, resource: notes, condition: "{condition}"'
    wanted = f"'notes': lacks '{column}', which a check of 'notes' names: give its"
    with pytest.raises(Stopped, match=wanted):
        checked_above(own)
    assert checked_above(f"{own}, check: false") == reasons(*[None] * 4)
