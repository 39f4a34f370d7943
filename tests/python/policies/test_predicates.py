"""Z5: a compiled predicate, printed by itself, shows what the secure dataset shows.

The predicate of each kind of dataset filters the base for one user at a time; masks
stand in the columns' place. That must give what the secure dataset has for the user.
"""

from __future__ import annotations

import re

import pytest
from policy_sandbox import Sandbox, view_name
from rendering import Macros, Stopped

from secure_datasets.render import by_itself

ALICE, BEN, CARL, DORA, GONE = 1, 2, 3, 4, 9
USERS = [ALICE, BEN, CARL, DORA, GONE]
TYPES = {
    "run_id": "bigint", "team_id": "bigint", "source_id": "bigint",
    "control_id": "bigint", "reach": "string", "unit": "string", "amount": "bigint",
}  # fmt: skip
COLUMNS = list(TYPES)
DOCUMENT = """
tiers:
    team: {access_view: team_access, object_keys: [team_id], carries: [kind]}
    result:
        access_view: result_access
        object_keys: [team_id, source_id]
        carries: []
datasets:
    plain: &plain
        base: all_runs
        columns: [run_id, team_id, source_id, control_id, reach, unit, amount]
        unique_key: [run_id]
        tier: team
        keys: {team_id: team_id}
    two_sided: &two_sided
        base: all_runs
        columns: [run_id, team_id, source_id, control_id, reach, unit, amount]
        unique_key: [run_id]
        tier: result
        keys: {team_id: team_id, source_id: source_id}
        second_side:
            keys: {team_id: team_id, source_id: control_id}
            unless_null: control_id
    switched: &switched
        base: all_runs
        columns: [run_id, team_id, source_id, control_id, reach, unit, amount]
        unique_key: [run_id]
        switch:
            column: reach
            cases:
                Team: {tier: team, keys: {team_id: team_id}}
                World: {visible_to: everyone}
    for_everyone:
        base: all_runs
        columns: [run_id, team_id, source_id, control_id, reach, unit, amount]
        unique_key: [run_id]
        visible_to: everyone
    two_sided_with_policies: *two_sided
    switched_with_policies: *switched
    authorized: {<<: *plain, view_authorization: true}
    over_authorized:
        base: vw_secure_dataset_authorized
        columns: [run_id, unit, amount]
        unique_key: [run_id]
        view_authorization: true
    over_switched:
        base: vw_secure_dataset_switched
        columns: [run_id, unit, amount]
        unique_key: [run_id]
    over_switched_with_policies:
        base: vw_secure_dataset_switched
        columns: [run_id, unit, amount]
        unique_key: [run_id]
    secured: {<<: *plain, base: star_runs}
policies:
    - {role: A, resource: for_everyone, condition: unit = 'X' or unit = 'user_id'}
    - {role: B, resource: for_everyone, condition: user_id = run_id}
    - {role: B, resource: for_everyone.amount, condition: amount > 5, mask: -1}
    - {role: A, resource: for_everyone.amount, mask: user_id * 100, mask_order: 2}
    - role: A
      resource: two_sided_with_policies
      check: false
      condition: >-
        exists (select 1 from {{ ref('allowed') }} as a
        where a.unit = two_sided_with_policies.unit)
    - {role: B, resource: two_sided_with_policies, condition: not (unit = 'X')}
    - {role: A, resource: switched_with_policies, condition: amount > 3}
    - {role: B, resource: switched_with_policies}
    - role: B
      resource: switched_with_policies.unit
      condition: switched_with_policies.user_id = 2 and amount = 7
      mask: "'user_id of switched_with_policies.'"
      mask_on_null: pass
    - {role: A, resource: authorized, condition: unit = 'X'}
    - {role: A, resource: authorized.amount, condition: unit = 'X', mask: 0}
    - {role: A, resource: over_switched_with_policies, condition: amount > 3}
    - {role: B, resource: secured.amount, mask: 0}
    - {except: [B, C], resource: plain.amount, condition: amount > 5, mask: -2}
    - {except: [B], resource: over_switched_with_policies.unit, mask: "'none'"}
    - {except: [B], resource: authorized.unit, mask: upper('hidden')}
relations:
    star_runs:
        kind: fact
        columns: {run_id: bigint, team_id: bigint, unit: string, amount: bigint}
    units: {kind: dimension, columns: {unit: string, head: string}}
    group_heads: {kind: mapping, columns: {user_group_id: bigint, head: string}}
row_security:
    - unique_name: heads
      object_type: row_security
      label: Heads
      dataset: group_heads
      filter_key_column: head
      ids_column: user_group_id
      id_type: group
      scope: fact
relationships:
    - {from: {dataset: star_runs, join_columns: [unit]}, to: {dataset: units}}
    - {from: {dataset: units, join_columns: [head]}, to: {row_security: heads}}
"""
QUERIES = """
    by_head:
        query:
            dimensions: {head: units.head}
            measures: {total: sum(star_runs.amount)}
        columns: [head, total]
        unique_key: [head]
        visible_to: everyone
"""
DATASETS = [
    *("plain", "two_sided", "switched", "for_everyone", "two_sided_with_policies"),
    *("switched_with_policies", "authorized", "over_authorized", "over_switched"),
    *("over_switched_with_policies", "secured"),
]
BASES = {
    **dict.fromkeys(DATASETS, "all_runs"),
    **dict.fromkeys(DATASETS[8:10], "vw_secure_dataset_switched"),
    "secured": "star_runs",
}
RUNS = [
    (1, 10, 1, None, "Team", "X", 5),
    (2, 10, 1, 2, "Team", "Y", 7),
    (3, 20, 2, 1, "World", None, 9),
    (4, 20, None, 1, "World", "X", 3),
    (5, None, 1, 1, "Team", "Z", 1),
    (6, 10, 2, None, "Moon", "user_id", None),
]


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    """Runs, what the users hold of them, and every secure dataset of the config."""
    sandbox = Sandbox()
    schema = ", ".join(f"{name} {kind}" for name, kind in TYPES.items())
    sandbox.table("all_runs", schema, RUNS)
    sandbox.table("star_runs", schema, RUNS)
    sandbox.table(
        "team_access",
        "team_id bigint, user_id bigint, kind string",
        [(10, u, "User") for u in (ALICE, BEN, CARL)] + [(20, ALICE, "Group")],
    )
    sandbox.table(
        "result_access",
        "team_id bigint, source_id bigint, user_id bigint",
        [(10, 1, ALICE), (10, 2, ALICE), (10, 1, BEN), (20, 2, ALICE), (20, 1, BEN)],
    )
    sandbox.table("allowed", "unit string", [("X",), (None,)])
    sandbox.table("units", "unit string, head string", [("X", "Ann"), ("Y", "Bo")])
    sandbox.table("group_heads", "user_group_id bigint, head string", [(7, "Ann")])
    sandbox.table(
        "view_outcomes",
        "user_id bigint, view_name string, outcome string",
        [
            (user, f"vw_secure_dataset_{name}", outcome)
            for name, shift in (("authorized", 0), ("over_authorized", 1))
            for user, outcome in zip(
                [ALICE, BEN, CARL],
                (["Transform", "Allow", "Deny"] * 2)[shift:],
                strict=False,
            )
        ],
    )
    sandbox.roles(
        {ALICE: ["A", 7], BEN: ["A", "B", 7], CARL: ["B"], DORA: [], GONE: ["A", "B"]},
        inactive=[GONE],
    )
    for name in DATASETS:
        sandbox.secure(DOCUMENT, name)
    return sandbox


@pytest.mark.parametrize(
    ("name", "relation"),
    [*((name, "f") for name in DATASETS), ("two_sided_with_policies", None)],
)
def test_Z5_the_base_filtered_by_the_predicate_is_what_the_user_sees(
    sandbox, name, relation
):
    macros = sandbox.macros(DOCUMENT)
    parsed = macros.secure_datasets_config()
    columns = parsed["datasets"][name]["columns"]
    alias = relation or by_itself.base_alias(name, parsed)
    texts = []
    for user in USERS:
        values = ", ".join(
            macros.mask_by_itself(name, parsed, column, user, relation)
            + f" as {column}"
            for column in columns
        )
        predicate = macros.row_predicate(name, parsed, user, relation)
        texts.append(
            f"select {user} as reader, {values}"
            f" from {view_name(BASES[name])} as {alias} where {predicate}"
        )
    found = sandbox.rows(" union all ".join(texts))
    # Rows that bear no user are everyone's.
    expected = sandbox.rows(
        f"select reader, {', '.join(columns)}"
        f" from {view_name(f'vw_secure_dataset_{name}')} as secure"
        f" inner join (select explode(array{tuple(USERS)}) as reader)"
        " on secure.user_id = reader or secure.user_id is null"
    )
    assert found == expected
    sights = {user: [row[1:] for row in found if row[0] == user] for user in USERS}
    # The users differ, or else nothing was compared.
    assert len(set(map(tuple, sights.values()))) > 1


def test_Z5_of_a_query_it_says_which_rows_count_and_which_lines_are_seen(sandbox):
    policies = "\npolicies:\n    - {role: A, resource: by_head, condition: total > 5}\n"
    document = DOCUMENT.replace("\npolicies:\n", QUERIES + policies, 1)
    macros = sandbox.macros(document)
    parsed = macros.secure_datasets_config()
    seen = sandbox.secure(document, "by_head")
    counts = set()
    for user in USERS:
        predicate = macros.row_predicate("by_head", parsed, f"{user}")
        lines = macros.answer_predicate("by_head", parsed, f"{user}")
        found = sandbox.rows(
            "select * from (select units.head, sum(star_runs.amount) as total"
            f" from {view_name('star_runs')} as star_runs"
            f" left join {view_name('units')} as units on star_runs.unit = units.unit"
            f" where {predicate} group by units.head) as by_head where {lines}"
        )
        assert found == sandbox.rows(
            f"select head, total from {seen} where user_id = {user}"
        )
        counts.add(len(found))
    assert counts == {0, 1}


def test_Z5_it_is_printed_without_spark(dbt, parsed, capfd):
    arguments = "{dataset: star_test_executions, user: reader(), relation: f}"
    command = ("run-operation", "print_predicate", "--args", arguments)
    capfd.readouterr()
    result = dbt("--quiet", *command, manifest=parsed)
    assert result.success, result.exception
    printed = capfd.readouterr().out
    rows, mask = printed.split("\n\n")
    assert rows.startswith(
        "-- Which rows of secure_datasets.fct_test_executions count for reader() in"
        " 'star_test_executions'; the base is called f.\nEXISTS(\n  SELECT\n    1\n"
    )
    # The tier on both sides, row security, and two conditions.
    assert rows.count("held.user_id = reader()") == 5
    assert "f.control_data_source_id IS NULL" in rows
    assert "star_test_executions." not in rows
    assert re.search(r"for error_count\.\nCASE\n.*ELSE f\.error_count\nEND", mask, re.S)


def test_Z5_a_dataset_that_is_not_there_has_none():
    with pytest.raises(Stopped, match="has no predicate; known are plain, "):
        Macros(DOCUMENT).print_predicate("reports")


def test_Z5_nothing_is_printed_before_an_error():
    macros = Macros(DOCUMENT)
    with pytest.raises(Stopped, match="unknown dialect 'klingon'"):
        macros.print_predicate("plain", dialect="klingon")
    assert macros.printed == []
    macros.print_predicate("plain")
    assert macros.printed[0].startswith("-- Which rows of ")
