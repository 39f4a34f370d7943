"""R19: attributes of the reader."""

from __future__ import annotations

import re

import pytest
from policy_sandbox import Sandbox, SparkSandbox, config
from rendering import Macros, Stopped

# Ann has one row, Ben none, Cem two, Dan one without a value.
ANN, BEN, CEM, DAN = 1, 2, 3, 4
STAFF = [(ANN, "X", 1), (CEM, "X", 4), (CEM, "Y", None), (DAN, None, None)]
READER = "reader: {relation: staff, key: user_id}"


def filled(sandbox: Sandbox) -> Sandbox:
    """Three runs that all see by their tier; a column is called as an attribute is."""
    schema = "run_id bigint, team_id bigint, unit string, result string, amount bigint"
    runs = [(1, 10, "X", "a", 5), (2, 10, "Y", "b", 2), (3, 10, None, "c", None)]
    sandbox.table("all_runs", schema, runs)
    access = [(10, user) for user in (ANN, BEN, CEM, DAN)]
    sandbox.table("team_access", "team_id bigint, user_id bigint", access)
    sandbox.table("staff", "user_id bigint, unit string, grade bigint", STAFF)
    sandbox.roles({ANN: ["A"], BEN: ["A"], CEM: ["A"], DAN: ["A"]})
    return sandbox


@pytest.fixture(scope="module")
def sandbox():
    """The tables in the quick engine."""
    return filled(Sandbox())


def written(*policies: str, reader: str = READER) -> str:
    """Return the config with these policies on the runs."""
    entries = [f"resource: runs{policy}" for policy in policies]
    return f"{config(*entries)}\n{reader}"


def seen(sandbox: Sandbox, *policies: str) -> dict[int, dict]:
    """Return who sees which run with which result."""
    view = sandbox.secure(written(*policies), "runs")
    found = sandbox.rows(f"select user_id, run_id, result from {view}")
    return {user: {r: v for u, r, v in found if u == user} for user, *_ in found}


ALL = {1: "a", 2: "b", 3: "c"}
HIDDEN = dict.fromkeys(ALL, "-")
CASES = [
    # No row and null hide; of two rows each shows.
    ([", role: A, condition: unit = reader.unit"],
     {ANN: {1: "a"}, CEM: {1: "a", 2: "b"}}),
    ([", role: A, condition: not (reader.unit = unit)"],
     {ANN: {2: "b"}, CEM: {1: "a", 2: "b"}}),
    # Both attributes are those of one row.
    ([", role: A, condition: reader.unit = unit and reader.grade < amount"],
     {ANN: {1: "a"}, CEM: {1: "a"}}),
    ([", role: A, condition: \"coalesce(reader.unit, 'Y') = `unit`\""],
     {ANN: {1: "a"}, CEM: {1: "a", 2: "b"}, DAN: {2: "b"}}),
    ([", role: A, as: restrictive, condition: runs.unit = reader.unit"],
     {ANN: {1: "a"}, CEM: {1: "a", 2: "b"}}),
    # A mask is put on where it is not known that it should not.
    ([".result, role: A, mask: \"'-'\", condition: reader.grade < 4"],
     {ANN: HIDDEN, BEN: HIDDEN, CEM: HIDDEN, DAN: HIDDEN}),
    ([".result, role: A, mask: \"'-'\", condition: reader.grade < 4,"
      " mask_on_null: pass"],
     {ANN: HIDDEN, BEN: ALL, CEM: ALL, DAN: ALL}),
    ([".result, role: A, mask: \"'-'\", condition: reader.unit <> 'X'"],
     {ANN: ALL, BEN: HIDDEN, CEM: HIDDEN, DAN: HIDDEN}),
    ([".result, shown_to: [{role: A, where: unit = reader.unit}], mask: \"'-'\""],
     {ANN: {1: "a", 2: "-", 3: "-"}, BEN: HIDDEN, CEM: {1: "a", 2: "b", 3: "-"},
      DAN: HIDDEN}),
]  # fmt: skip


@pytest.mark.parametrize(("policies", "wanted"), CASES)
def test_R19_an_attribute_of_the_reader_decides(sandbox, policies, wanted):
    assert seen(sandbox, *policies) == wanted


@pytest.mark.spark
def test_R19_spark_decides_the_same(spark):
    sandbox = filled(SparkSandbox(spark))
    for policies, wanted in CASES:
        assert seen(sandbox, *policies) == wanted, policies


def test_R19_whose_columns_are_meant_is_said_once(sandbox):
    condition = "'reader.unit is ' <> result and upper(`Unit`) = (reader.unit)"
    policy = f', role: A, condition: "{condition} and amount in (runs.amount, 1)"'
    text = sandbox.macros(written(policy)).secure_dataset("runs")
    assert (
        "exists (select 1 from policies_staff as reader where reader.user_id ="
        " runs.user_id and ('reader.unit is ' <> runs.result and upper(runs.`Unit`) ="
        " (reader.unit) and runs.amount in (runs.amount, 1)))"
    ) in text


def test_R19_a_column_called_reader_is_meant_where_a_dataset_has_one():
    dataset = (
        "runs: {base: all_runs, columns: [run_id, team_id, reader],"
        " unique_key: [run_id], tier: team, keys: {team_id: team_id}}"
    )
    policy = "role: A, resource: runs, condition: reader.town = 'X'"
    types = {
        "all_runs": {
            "run_id": "bigint", "team_id": "bigint", "reader": "struct<town: string>",
        },
        "staff": {"user_id": "bigint", "unit": "string"},
    }  # fmt: skip
    macros = Macros(f"{config(policy, dataset=dataset)}\n{READER}", types=types)
    assert "reader.user_id" not in macros.secure_dataset("runs")


def test_R19_what_is_written_is_checked_by_the_attributes_of_who_writes(sandbox):
    policy = ", role: A, condition: unit = reader.unit"
    macros = sandbox.macros(written(policy))
    with pytest.raises(Stopped, match=r"say who writes, checked_rows\(\.\.\., user="):
        macros.checked_rows("runs", "A", "policies_all_runs")
    for user, accepted in {ANN: [1], BEN: [], CEM: [1, 2], DAN: []}.items():
        checked = macros.checked_rows("runs", "A", "policies_all_runs", user)
        query = f"select run_id, rejection_reason from ({checked}) as checked"
        found = sandbox.rows(query)
        assert [run for run, reason in found if reason is None] == accepted
        assert {reason for _, reason in found} - {None} == {
            "not true for role 'A': unit = reader.unit"
        }
    free = sandbox.macros(written(f"{policy}, check: false"))
    assert "reader" not in free.checked_rows("runs", "A", "policies_all_runs")


@pytest.mark.parametrize(
    ("policy", "reader", "problem"),
    [
        (", role: A, condition: unit = reader.unit", "",
         "'condition' names 'reader.unit', which the dataset has not"),
        (", role: A, condition: unit = reader.town", READER,
         "'condition' names 'reader.town', which the relation of 'reader' has not"),
        (", role: A, condition: unit = reader", READER,
         "'condition' names 'reader', which the dataset has not"),
        (".result, role: A, mask: reader.unit", READER,
         "'mask' names 'reader.unit', which the dataset has not"),
        (", role: A, condition: \"reader.unit in (select a.unit from t as a)\"", READER,
         "names an attribute of the reader beside a subquery"),
        (", role: A, check: false, condition: \"exists (select 1 from t as a where"
         " a.unit = reader.unit)\"", READER,
         "names 'reader.unit' in a subquery, and 'reader' is none of"),
        (", role: A, condition: \"get(transform(array(amount), x -> x), 0) ="
         " reader.grade\"", READER, "beside a subquery or a function with `->`"),
        (", role: A", "reader: {relation: staff}", "the key 'key' is missing"),
        (", role: A", "reader: {relation: staff, key: unit}",
         "'key' is 'unit', a string, and the ids of users are whole numbers"),
        (", role: A", "reader: {relation: staff, key: name}",
         "'key' has 'name', which the documentation of 'staff' has not"),
    ],
)  # fmt: skip
def test_R19_what_no_reader_has_is_an_error(sandbox, policy, reader, problem):
    with pytest.raises(Stopped, match=re.escape(problem)):
        sandbox.macros(written(policy, reader=reader)).secure_datasets_config()


def test_R19_the_relation_is_one_that_rights_hang_on(sandbox):
    macros = sandbox.macros(written(", role: A"))
    macros.graph.nodes["staff"] |= {"relation_name": "policies_staff"}
    found = macros.nodes_of_rules(macros.secure_datasets_config())
    assert [node["name"] for node in found] == ["staff"]
