"""R18: policies that begin and end."""

from __future__ import annotations

import re

import pytest
from policy_sandbox import Sandbox, SparkSandbox, config
from rendering import VARS, Stopped

from secure_datasets.questions import gates, remedies

ANN, BEN = 1, 2
# Each moment with whether a rule from the noon of 1 May until 3 May, a day, holds then.
MOMENTS = {
    "2026-05-01 11:59:59.999999": False,
    "2026-05-01 12:00:00": True,
    "2026-05-03 00:00:00": True,
    "2026-05-03 23:59:59.999999": True,
    "2026-05-04 00:00:00": False,
}
TIME = "valid_from: 2026-05-01 12:00:00, valid_until: 2026-05-03"
OVER = "valid_until: 2020-01-31T10:00:00Z"
AHEAD = "valid_from: 2999-01-01"


def filled(sandbox: Sandbox) -> Sandbox:
    """Two runs, both of which both users see by their tier; Ann has a role."""
    schema = "run_id bigint, team_id bigint, unit string, result string, amount bigint"
    runs = [(1, 10, "X", "Failed", 5), (2, 10, "Y", None, None)]
    sandbox.table("all_runs", schema, runs)
    access = [(10, ANN), (10, BEN)]
    sandbox.table("team_access", "team_id bigint, user_id bigint", access)
    sandbox.roles({ANN: ["A"], BEN: []})
    return sandbox


@pytest.fixture(scope="module")
def sandbox():
    """The tables in the quick engine."""
    return filled(Sandbox())


def seen(sandbox: Sandbox, clock: str | None, *policies: str) -> dict:
    """Return the amounts that each user sees, by run."""
    policies = [f"resource: runs{policy}" for policy in policies]
    view = sandbox.secure(config(*policies), "runs", clock=clock)
    found = sandbox.rows(f"select user_id, run_id, amount from {view}")
    return {user: {r: a for u, r, a in found if u == user} for user, *_ in found}


ALL = {1: 5, 2: None}
# By what the policies say: what Ann and Ben see within the time, and outside.
CASES = [
    # A permissive condition shows nothing outside, also where no other is.
    ([f", role: A, {TIME}"], {ANN: ALL}, {}),
    ([f', role: "*", condition: run_id = 1, {TIME}'],
     {ANN: {1: 5}, BEN: {1: 5}}, {}),
    ([f", role: A, {TIME}", ', role: "*", condition: run_id = 1'],
     {ANN: ALL, BEN: {1: 5}}, {ANN: {1: 5}, BEN: {1: 5}}),
    # A restrictive one does nothing outside.
    ([f", role: A, as: restrictive, condition: run_id = 1, {TIME}"],
     {ANN: {1: 5}, BEN: ALL}, {ANN: ALL, BEN: ALL}),
    ([f", except: [A], as: restrictive, condition: false, {TIME}"],
     {ANN: ALL}, {ANN: ALL, BEN: ALL}),
    # Nor does a mask.
    ([f".amount, role: A, mask: 0, {TIME}"],
     {ANN: {1: 0, 2: 0}, BEN: ALL}, {ANN: ALL, BEN: ALL}),
    ([f".amount, except: [A], mask: 0, condition: amount > 1, {TIME}"],
     {ANN: ALL, BEN: {1: 0, 2: 0}}, {ANN: ALL, BEN: ALL}),
    ([f".amount, shown_to: [{{role: A, where: run_id = 1}}], mask: 0, {TIME}"],
     {ANN: {1: 5, 2: 0}, BEN: {1: 0, 2: 0}}, {ANN: ALL, BEN: ALL}),
    # A line ends where a mask without it begins.
    (['.amount, shown_to: [{role: A}, {role: "*", where: run_id = 2}], mask: 0,'
      " valid_until: 2026-05-03",
      '.amount, shown_to: [{role: "*", where: run_id = 2}], mask: 0,'
      " valid_from: 2026-05-04"],
     {ANN: ALL, BEN: {1: 0, 2: None}}, {ANN: {1: 0, 2: None}, BEN: {1: 0, 2: None}}),
    # One role may have one condition after the other.
    ([f", role: A, condition: run_id = 1, {TIME}",
      ", role: A, condition: run_id = 2, valid_from: 2026-05-04",
      ", role: A, condition: run_id = 2, valid_until: 2026-05-01 12:00:00"],
     {ANN: {1: 5}}, {ANN: {2: None}}),
]  # fmt: skip


@pytest.mark.parametrize(("policies", "within", "outside"), CASES)
def test_R18_a_rule_acts_in_its_time_alone(sandbox, policies, within, outside):
    assert seen(sandbox, "2026-05-02 00:00:00", *policies) == within
    assert seen(sandbox, "2026-05-04 00:00:00", *policies) == outside


@pytest.mark.parametrize(("moment", "holds"), MOMENTS.items())
def test_R18_a_beginning_belongs_to_the_time_and_an_end_does_not(
    sandbox, moment, holds
):
    assert bool(seen(sandbox, moment, f", role: A, {TIME}")) is holds


@pytest.mark.parametrize("make", [Sandbox, pytest.param(None, marks=pytest.mark.spark)])
def test_R18_the_clock_is_the_readers_own(make, request):
    sandbox = filled(make() if make else SparkSandbox(request.getfixturevalue("spark")))
    mask = ".amount, role: A, mask: 0"
    for time in (OVER, AHEAD):
        assert seen(sandbox, None, f", role: A, {time}") == {}
        assert seen(sandbox, None, f"{mask}, {time}") == {ANN: ALL, BEN: ALL}
    for time in ("valid_from: 2020-01-01", "valid_until: 9999-12-31"):
        assert seen(sandbox, None, f", role: A, {time}") == {ANN: ALL}
    text = sandbox.macros(config(f"resource: runs{mask}, {OVER}")).secure_dataset(
        "runs"
    )
    assert "current_timestamp() < timestamp '2020-01-31 10:00:00Z'" in text


def test_R18_as_of_asks_that_day(sandbox):
    for moment, holds in {"2026-05-03": True, "2026-05-04 00:00:00": False}.items():
        macros = sandbox.macros(config(f"resource: runs, role: A, {TIME}"))
        values = VARS | {"as_of": moment}
        macros.stand_in(var=lambda name, *_, values=values: values[name])
        sandbox.view("as_it_was", macros.secure_dataset("runs"))
        assert bool(sandbox.rows("select 1 from as_it_was")) is holds
        assert "current_timestamp" not in macros.secure_dataset("runs")


def test_R18_what_a_role_writes_is_checked_in_the_time_of_the_rule(sandbox):
    def accepted(clock: str, *policies: str) -> list[int]:
        text = config(*(f"resource: runs, {policy}" for policy in policies))
        macros = sandbox.macros(text, clock=clock)
        checked = macros.checked_rows("runs", "A", "policies_all_runs")
        query = f"select run_id, rejection_reason from ({checked}) as checked"
        return [run for run, reason in sandbox.rows(query) if reason is None]

    own = f"role: A, condition: run_id = 1, {TIME}"
    more = f'role: "*", as: restrictive, condition: amount > 9, {TIME}'
    for moment, holds in MOMENTS.items():
        assert accepted(moment, own) == ([1] if holds else [])
        assert accepted(moment, f"{own}, check: false") == ([1, 2] if holds else [])
        assert accepted(moment, "role: A", more) == ([] if holds else [1, 2])
        assert accepted(moment, "role: A", f"{more}, check: false") == [1, 2]


@pytest.mark.parametrize(
    ("dialect", "asked"),
    {
        "spark": "current_timestamp() < CAST('2026-05-04 00:00:00Z' AS TIMESTAMP)",
        "databricks": "current_timestamp() < CAST('2026-05-04 00:00:00Z' AS TIMESTAMP)",
        "snowflake": "date_part(epoch_microsecond, current_timestamp())"
        " < 1777852800000000",
        "postgres": "statement_timestamp() < timestamptz '2026-05-04 00:00:00+00:00'",
        "duckdb": "current_timestamp < timestamptz '2026-05-04 00:00:00+00:00'",
        "trino": "current_timestamp < timestamp '2026-05-04 00:00:00 UTC'",
        "bigquery": "current_timestamp() < timestamp '2026-05-04 00:00:00+00:00'",
    }.items(),
)
def test_R18_a_printed_rule_asks_the_clock_of_its_engine(sandbox, dialect, asked):
    macros = sandbox.macros(config(f"resource: runs.amount, role: A, mask: 0, {TIME}"))
    document = macros.secure_datasets_config()
    text = macros.mask_by_itself("runs", document, "amount", ":u", "f", dialect)
    assert asked in text and text.count("timestamp()") + text.count("t_timestamp ") == 2
    # A mask of one's own that asks the clock is another matter.
    clock = "resource: runs.unit, role: A, mask: cast(current_timestamp() as string)"
    if dialect not in ("spark", "databricks"):
        macros = sandbox.macros(config(clock))
        document = macros.secure_datasets_config()
        with pytest.raises(Stopped, match=f"{dialect} can't say '"):
            macros.mask_by_itself("runs", document, "unit", ":u", "f", dialect)


def test_R18_why_says_until_when_and_whether_it_holds_now(sandbox):
    users = f"select {ANN} as user_id, true as is_live"
    for clock, holds in {"2026-05-02": True, "2026-05-04": False}.items():
        macros = sandbox.macros(
            config(f"resource: runs, role: A, condition: run_id = 1, {TIME}"),
            clock=f"{clock} 00:00:00",
        )
        document = macros.secure_datasets_config()
        rules = macros.rules_on("runs", document, "runs")
        facts = {"rules": rules, "roles": ["A"]}
        query = macros.gates_query("runs", document, users, {"run_id": "1"})
        (row,) = sandbox.engine.ask(query)
        gate = gates.conditions_gate(facts, row, False)
        named = (
            'condition of "A" from 2026-05-01 12:00:00 until 2026-05-04 00:00:00 UTC'
        )
        if holds:
            assert gate["says"] == f"{named} shows the row"
        else:
            assert gate["state"] == "closed"
            assert remedies.what_helps(gate, facts, {"user_id": ANN}, row) == (
                "the conditions show it to who holds A from 2026-05-01 12:00:00 until"
                " 2026-05-04 00:00:00 UTC"
            )
        assert gate["evidence"][0]["says"] == (
            f"{named}: the user holds A; its condition run_id = 1 is true; it holds"
            " from 2026-05-01 12:00:00 until 2026-05-04 00:00:00 UTC,"
            f" {'as' if holds else 'not'} now"
        )


@pytest.mark.parametrize(("time", "rows"), [(OVER, 0), (AHEAD, 0), (TIME, 2)])
def test_R18_who_counts_what_a_mask_with_lines_hides_in_its_time(sandbox, time, rows):
    mask = f"resource: runs.amount, shown_to: [{{role: A}}], mask: 0, {time}"
    macros = sandbox.macros(config(mask), clock="2026-05-02 00:00:00")
    document = macros.secure_datasets_config()
    query = macros.rule_counts("runs", document, BEN)
    assert sandbox.rows(query) == [(2, rows, 2, 0)]


def test_R18_a_policy_that_is_over_for_30_days_is_a_finding(sandbox):
    macros = sandbox.macros(
        config(
            f"resource: runs, role: A, {TIME}",
            'resource: runs, role: "*"',
            "resource: runs.amount, except: [A], mask: 0, valid_until: 9999-12-31",
        ),
        clock="2026-06-02 23:59:59",
    )
    document = macros.secure_datasets_config()
    over = macros.secure_datasets().long_over
    assert sandbox.rows(over(macros.rules(document), 30)) == []
    macros.stand_in(readers_clock=lambda: "timestamp '2026-06-03 00:00:00Z'")
    reason = "it ended 2026-05-04 00:00:00 UTC, and does nothing: take it away"
    found = sandbox.rows(over(macros.rules(document), 30))
    assert found == [("runs", "'A'", reason)]


@pytest.mark.parametrize(
    ("policies", "problem"),
    [
        (["role: A, valid_until: tomorrow"],
         "'valid_until' must be a day or a moment in UTC, such as 2026-05-01 or"),
        (["role: A, valid_from: 20260501"], "'valid_from' must be a day or a moment"),
        (["role: A, valid_from: 2026-02-30"], "'valid_from' must be a day or a moment"),
        (["role: A, valid_from: 2026-05-01T10:00:00+02:00"],
         "'valid_from' must be a day or a moment in UTC"),
        (["role: A, valid_from: 2026-05-02, valid_until: 2026-05-01"],
         "'valid_until' does not come after 'valid_from'"),
        ([f"role: A, {TIME}", "role: A, valid_from: 2026-05-03"],
         "the role has a condition on the dataset already:"
         " write one, with 'or', or let the one end where the other begins"),
        (["role: A", "role: A, valid_until: 2026-05-03"], "or let the one end where"),
        (["role: A, condition: current_date() < date'2026-05-01'"], "current_date"),
    ],
)  # fmt: skip
def test_R18_a_time_that_says_nothing_is_an_error(sandbox, policies, problem):
    policies = [f"resource: runs, {policy}" for policy in policies]
    with pytest.raises((Stopped, ValueError), match=re.escape(problem)):
        sandbox.macros(config(*policies)).secure_datasets_config()
