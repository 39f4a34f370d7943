"""Which single rows are the last support of what a user sees: W7, by removing each.

`WHY_WORLDS=50` in the environment looks at 50 worlds.
"""

from __future__ import annotations

import os
import random
from types import SimpleNamespace

import pytest
import yaml
from oracle.policies import LEVEL_OF, Dataset
from own_config import PRODUCTS, document_of
from policy_worlds import PolicyWorld, keys_of, policy_world, seen_by
from projects import SAMPLE
from tier_questions import Question, nobody_sees, raw, to_user
from why_page import sample_asked
from why_sandbox import Asked, Database, load_world

from secure_datasets.questions import text
from secure_datasets.questions.facts.staged import name_rows
from secure_datasets.questions.support import row_support


@pytest.fixture(scope="module")
def sample() -> Asked:
    """The question over the sample, as the bank's config asks it."""
    return sample_asked(SAMPLE)


IN_STAFF = ["row 1 of user_group_members", "row 1 of user_groups"]
WORLDS = range(int(os.environ.get("WHY_WORLDS", 3)))


def support(question: Question, user: int, **given: object) -> set[tuple[str, int]]:
    """Return what the operation says."""
    answers = question.asked.ask(user=user, **given)
    (answer,) = [a for a in answers if a["user"]["user_id"] == user]
    assert answer["seen"]
    return {(row["table"], row["id"]) for row in answer["last_support"]}


def test_W7_one_path_means_its_rows_and_two_paths_mean_none():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    asked = {"dataset": "tests", "row": {"test_id": 1}}
    assert support(Question(world), 1, **asked) == {("project_permissions", 5)}
    world["project_permissions"].append(
        raw("project_permissions", id=6, project_id=1, user_group_id=2)
    )
    question = Question(world)
    assert support(question, 1, **asked) == set()
    world["project_permissions"].pop(0)
    wanted = {("project_permissions", 6), ("user_group_members", 1)}
    wanted |= {("user_groups", 1), ("user_groups", 2)}
    assert support(Question(world), 1, **asked) == wanted
    lines = question.asked.lines(user=1, **asked)
    none = "    none: there are several ways, and either way alone is enough: no single"
    assert f"{none} row is the last support" in lines
    lines = Question(world).asked.lines(user=1, **asked)
    assert lines[-7:-2] == [
        "Last support: take any one of these rows away, and it is gone",
        "    row 6 of project_permissions, Core, Risk: supports tier",
        "    row 1 of user_group_members, Staff, ann: supports tier",
        "    row 1 of user_groups, Staff: supports tier",
        "    row 2 of user_groups, Risk: supports tier",
    ]


@pytest.mark.parametrize(
    ("user", "wanted"),
    [("not asked", "the row is for everyone"), ("open", "there are several ways")],
)
def test_W7_a_row_for_everyone_hangs_on_no_way(user, wanted):
    gates = [
        {"gate": name, "state": state, "says": "", "evidence": []}
        for name, state in (("row", "open"), ("user", user))
    ]
    answer = {"seen": True, "gates": gates, "masks": [], "masks_below": []}
    answer |= {"what_helps": None, "of_before": [], "last_support": []}
    question = {"kind": "dataset", "name": "tests", "keys": {"test_id": "1"}}
    person = dict.fromkeys(("first_name", "last_name", "login_name")) | {"user_id": 1}
    *_, told, _ = text.as_lines(question, person, answer)
    assert told.startswith(f"    none: {wanted}")


def test_W7_a_row_is_told_with_each_gate_that_hangs_on_it(sample):
    given = {"dataset": "star_test_executions", "row": {"test_execution_id": 135}}
    (answer,) = sample.ask(user="hpark", **given)
    found = {
        (r["table"], r["id"]): (r["gates"], r["names"]) for r in answer["last_support"]
    }
    every = ["tier", "row security", "conditions"]
    assert found["user_groups", 4] == (every, ["Quality Contractors"])
    # By this one the role comes, and nothing else.
    assert found["user_groups", 2] == (["conditions"], ["Data Office"])
    link = (["tier"], ["Core Banking Reconciliation", "core_banking"])
    assert found["project_data_sources", 1] == link
    # What a dimension's row tells of is called by its name.
    told = found["dim_data_sources", "data_source_id=1"]
    assert told == (["row security"], ["core_banking"])


def test_W7_both_sides_of_a_row_count():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    world["meta_data_sources"].append(raw("meta_data_sources", id=2, name="dwh"))
    sides = {"test_data_source_id": 1, "control_data_source_id": 2}
    world["test_executions"] = [raw("test_executions", id=1, test_id=1, **sides)]
    link = {"project_id": 1, "meta_data_source_id": 2}
    world["project_data_sources"].append(raw("project_data_sources", id=2, **link))
    world["data_source_permissions"] = [
        raw("data_source_permissions", id=source, meta_data_source_id=source,
            user_id=1, role_name="Tester")
        for source in (1, 2)
    ]  # fmt: skip
    given = {"dataset": "test_executions", "row": "test_execution_id=1"}
    assert support(Question(world), 1, **given) == {
        ("project_permissions", 5),
        *(("project_data_sources", 1), ("project_data_sources", 2)),
        *(("data_source_permissions", 1), ("data_source_permissions", 2)),
    }


def test_W7_a_second_tier_on_a_key_says_nothing_of_the_product_s_tiers():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    world["data_source_permissions"] = [
        raw("data_source_permissions", id=1, meta_data_source_id=1, user_id=1,
            role_name="Tester")
    ]  # fmt: skip
    database = Database()
    load_world(database, world)
    config = yaml.safe_load(document_of(PRODUCTS))
    # Whose right the user lacks, on a key of the tier 'results'.
    config["tiers"]["admins"] = {
        "access_view": "vw_secure_user_project_access",
        **{"object_keys": ["project_id"], "carries": []},
        "right": {"object_type": "Project", "permission": "Project Admin"},
    }
    asked = Asked(yaml.safe_dump(config, sort_keys=False), database).over(world)
    keys = {"project_id": 1, "meta_data_source_id": 1}
    (answer,) = asked.ask(user=1, tier="results", object=keys)
    assert {(row["table"], row["id"]) for row in answer["last_support"]} == {
        *(("project_permissions", 5), ("data_source_permissions", 1)),
        ("project_data_sources", 1),
    }
    lines = asked.lines(user=1, tier="results", object=keys)
    assert any("Project Member on Project 1" in line for line in lines)
    assert not any("Project Admin" in line for line in lines)


OVER_A_MASK = """
tiers:
    team:
        access_view: vw_secure_user_project_access
        object_keys: [project_id]
        carries: []
        right: {object_type: Project, permission: Project Member}
datasets:
    runs:
        base: vw_dataset_tests
        columns: [project_id, test_id, test_name]
        unique_key: [test_id]
        tier: team
        keys: {project_id: project_id}
    notes:
        base: vw_secure_dataset_runs
        columns: [test_id, test_name]
        unique_key: [test_id]
policies:
    - {except: [Risk], resource: runs.test_name, mask: "'x'"}
    - {role: Staff, resource: notes, condition: test_name = 't'}
"""


@pytest.mark.parametrize(
    ("edit", "dataset", "wanted"),
    [
        (("", ""), "runs", ["row 5 of project_permissions"]),
        # Without Risk the name would be masked, and then be another.
        (("", ""), "notes", None),
        ((OVER_A_MASK[OVER_A_MASK.index("    - {except"):].splitlines()[0], ""),
         "notes", ["row 5 of project_permissions", *IN_STAFF]),
        (("        right: {object_type: Project, permission: Project Member}\n", ""),
         "runs", None),
        # An attribute of the reader, whose row the answer does not have.
        (("resource: notes, condition: test_name = 't'}",
          "resource: runs, condition: test_id = reader.test_id}\n"
          "reader: {relation: staff, key: user_id}"),
         "runs", None),
        # Nor is that of a row over one whose support is not known.
        (("resource: notes, condition: test_name = 't'}",
          "resource: runs, condition: test_id = reader.test_id}\n"
          "reader: {relation: staff, key: user_id}"),
         "notes", None),
    ],
)  # fmt: skip
def test_W7_what_can_t_be_told_is_called_not_known(edit, dataset, wanted):
    document = OVER_A_MASK.replace(*edit) if edit[0] else OVER_A_MASK
    assert support_under(document, dataset) == wanted


def support_under(document: str, dataset: str) -> list[str] | None:
    """Return the last support of test 1, which a member of Staff and Risk sees."""
    database = Database()
    world = nobody_sees() | {"project_permissions": [to_user()]}
    load_world(database, world)
    columns = ("user_id", "user_group_id", "role_name")
    roles = [(1, 1, "Staff"), (1, 2, "Risk")]
    database.table("vw_secure_user_roles", columns, roles)
    columns = ("project_id", "test_id", "test_name", "user_id")
    database.table("vw_secure_dataset_runs", columns, [(1, 1, "t", 1)])
    kinds = dict.fromkeys(("test_id", "project_id"), "bigint") | {"test_name": "string"}
    types = {"vw_dataset_tests": kinds}
    types["vw_secure_dataset_runs"] = types["vw_dataset_tests"]
    database.table("staff", ("user_id", "test_id"), [(1, 1)])
    types["staff"] = {"user_id": "bigint", "test_id": "bigint"}
    asked = Asked(document, database, types=types).over(world)
    given = {"user": 1, "dataset": dataset, "row": {"test_id": 1}}
    (answer,) = asked.ask(**given)
    assert answer["seen"]
    rows = answer["last_support"]
    is_told = any(
        line.strip().startswith("not known: ") for line in asked.lines(**given)
    )
    assert is_told is (rows is None)
    return rows and [row["says"] for row in rows]


@pytest.mark.parametrize(
    ("condition", "hangs"),
    [
        # It hides the row from all others, or its null does.
        ("test_id = 2", True),
        ("test_id = null", True),
        # It lets everybody see the row, or is in force no longer.
        ("test_id = 1", False),
        ("test_id = 2, valid_until: 2001-01-01", False),
    ],
)
def test_W7_a_role_that_a_restriction_spares_counts_where_it_would_hide(
    condition, hangs
):
    policy = f"    - {{except: [Staff], as: restrictive, condition: {condition}, "
    document = f"{OVER_A_MASK}{policy}resource: runs}}\n"
    wanted = ["row 5 of project_permissions", *(IN_STAFF if hangs else [])]
    assert support_under(document, "runs") == wanted


@pytest.mark.parametrize(("role", "more"), [('"*"', []), ("Staff", IN_STAFF)])
def test_W7_what_everybody_is_shown_hangs_on_no_role(role, more):
    policy = f"    - {{role: {role}, resource: runs, condition: test_id = 1}}\n"
    wanted = ["row 5 of project_permissions", *more]
    assert support_under(OVER_A_MASK + policy, "runs") == wanted


def test_W7_who_is_allowed_a_view_needs_no_role():
    condition = {"gate": "conditions", "title": "c"}
    condition["rule"] = {"roles": ["A"], "is_except": False, "condition": "true"}
    condition["rule"]["said"] = "true"
    gate = {"gate": "view authorization"}
    facts = {
        "rules": [gate, gate, condition], "outcome": None, "below": None, "cases": [],
        "base": "b", "decisions": None, "is_query": False, "columns": [], "roles": [],
        "held_roles": [{"role_name": "A", "user_group_id": 2}], "global_roles": [],
        "memberships": [
            {"user_group_member_id": 7, "user_group_id": group, "depth": depth}
            for depth, group in enumerate((1, 2, 3))
        ],
    }  # fmt: skip
    row = {"is_public": False, "rule_1": False, "rule_2": True, "rule_3": False}
    row |= {"rule_3_is_for": True, "rule_3_says": None}
    person = {"user_id": 1, "is_live": True, "rejection_reason": None}
    assert row_support(facts | {"found": [row]}, person) == []
    row |= {"rule_2": False, "rule_3": True}
    rows = row_support(facts | {"found": [row]}, person)
    assert [(row["table"], row["id"]) for row in rows] == [
        *(("user_group_members", 7), ("user_groups", 1), ("user_groups", 2)),
    ]


def decided(**values: object) -> dict:
    """Return a decision that allows user 1 the view v."""
    decision = {"user_id": 1, "object_name": "v", "decision": "Allow", "row_count": 1}
    return decision | values


@pytest.mark.parametrize(
    ("owner", "decisions", "wanted"),
    [
        (2, [decided()], [("users", 2), ("view_decisions", 1)]),
        # Without the user's own row nobody asks.
        (1, [decided()], [("view_decisions", 1)]),
        # A decision that is there twice hangs on none of both rows.
        (2, [decided(row_count=2)], [("users", 2)]),
        (2, [decided(), decided(decision="Transform")], [("users", 2)]),
        (2, [decided(), decided(object_name="w")],
         [("users", 2), ("view_decisions", 1)]),
    ],
)  # fmt: skip
def test_W7_a_view_hangs_on_its_owner_and_on_a_decision_that_is_there_once(
    owner, decisions, wanted
):
    asked = {"user_id": 1, "view": "v", "gates": [(owner, "t")], "rows": decisions}
    facts = {
        **{"rules": [], "below": None, "cases": [], "base": "b", "is_query": False},
        "decisions": asked,
        "found": [{"is_public": False}],
    }
    person = {"user_id": 1, "is_live": True, "rejection_reason": None}
    rows = row_support(facts, person)
    says = "user_id=1, object_name=v, decision=Allow"
    told = [(r["table"], 1 if r["id"] == says else r["id"]) for r in rows]
    assert told == wanted


def test_W7_of_several_rows_with_the_key_one_that_is_seen_is_enough():
    def lead(project: int, grant: int) -> tuple[dict, dict]:
        right = {"object_type": "Project", "permission_name": "Project Member"}
        path = {**right, "object_id": project, "grant_id": grant}
        path |= {"grant_table": "project_permissions", "user_group_member_id": None}
        path |= {"path_kind": "User", "group_chain": None, "role_name": None}
        path |= {"date_created": None, "created_by": None}
        row = {"is_public": False, "case_1": True, "case_1_first": True}
        return path, row | {"case_1_second": None, "key_project_id": project}

    paths, rows = zip(lead(1, 5), lead(2, 6), strict=True)
    right = {"key": "project_id", "object_type": "Project"}
    parts = {"rights": [right | {"permission": "Project Member"}], "links": []}
    case = {"tier": "project", "keys": {"project_id": "project_id"}, "applies": "true"}
    facts = {
        **{"rules": [], "below": None, "base": "b", "is_query": False, "paths": paths},
        **{"decisions": None, "cases": [case | {"second_keys": None}], "missed": {}},
        **{"parts": {"project": parts | {"is_whole": True}}, "objects": []},
    }
    person = {"user_id": 1, "is_live": True, "rejection_reason": None}

    def told(*found: dict) -> list[int]:
        return [row["id"] for row in row_support(facts | {"found": found}, person)]

    assert (told(rows[0]), told(rows[1])) == ([5], [6])
    assert told(*rows) == []
    # One that is hidden opens nothing.
    assert told(rows[0], rows[1] | {"case_1_first": False}) == [5]


def test_W7_a_raw_row_is_named_also_by_an_id_that_is_no_number():
    database = Database()
    rows = [(1, "Core"), (2, "Risk")]
    database.table("stg_projects", ("project_id", "name"), rows)
    table = {"key": "project_id", "columns": ["id", "name"], "references": {}}
    built = SimpleNamespace(
        tables={"projects": table}, staged="stg_{}".format, rows=database.rows
    )
    notes = [
        {
            "table": "dim",
            "id": "x",
            "raw_table": "projects",
            "raw_id": each,
            "names": [],
        }
        for each in (1, "a row's own")
    ]
    name_rows(built, notes)
    assert [each["names"] for each in notes] == [["Core"], []]


# ---------------------------------------------------------------------------
# Policies
# ---------------------------------------------------------------------------


def some_seen(world: PolicyWorld, chance: random.Random) -> list[tuple]:
    """Return some users with rows that they see: dataset, user, key."""
    found = []
    for dataset in world.case.datasets:
        seen = [
            (dataset.name, user, key)
            for user in world.case.users
            for key in seen_by(world.case, dataset.name, user)
        ]
        found += chance.sample(sorted(seen, key=repr), min(3, len(seen)))
    return found


def is_not_known(world: PolicyWorld, dataset: Dataset | None) -> bool:
    """Whether the support of a dataset's rows may be called not known."""
    if dataset is None:
        return False
    conditions, _ = world.case.of(dataset.name)
    datasets = {each.name: each for each in world.case.datasets}
    below = datasets.get(dataset.below)
    # They read attributes, judge what is counted, or see what is masked below.
    reads = "reader" in repr([policy.condition for policy in conditions])
    judges = dataset.is_query and world.case.security is not None
    sees = below is not None and bool(world.case.of(below.name)[1])
    is_own = bool(conditions) and (reads or judges or sees)
    return is_own or is_not_known(world, below)


def own_rows(world: PolicyWorld, dataset: Dataset, user: int, key: tuple) -> set:
    """Return what is needed in any case: the user, the row, and what it is a row of."""
    if dataset.is_query:
        shows_teams = not LEVEL_OF.keys().isdisjoint(dataset.columns)
        teams = {("reports", team) for team in world.teams if shows_teams}
        return {("users", user)} | teams
    (row,) = [row for row in world.rows if row["run_id"] == key[0]]
    return {("users", user), ("tests", key[0]), ("projects", row["team_id"])}


@pytest.mark.parametrize("seed", WORLDS)
def test_W7_exactly_the_rows_whose_removal_alone_hides_a_row_under_policies(seed):
    world, chance = policy_world(seed), random.Random(seed)
    asked, told = world.asked(), {}
    datasets = {dataset.name: dataset for dataset in world.case.datasets}
    for dataset, user, key in some_seen(world, chance):
        row = dict(zip(keys_of(datasets[dataset]), key, strict=True))
        answers = asked.ask(user=user, dataset=dataset, row=row)
        (answer,) = [a for a in answers if a["user"]["user_id"] == user]
        assert answer["seen"], (dataset, user, key)
        rows = answer.get("last_support", [])
        if rows is None:
            assert is_not_known(world, datasets[dataset])
            continue
        found = {(row["table"], row["id"]) for row in rows}
        found |= {(r["raw_table"], r["raw_id"]) for r in rows if "raw_table" in r}
        told[dataset, user, key] = found
    for lost in world.every_row():
        case = world.without(lost)
        for (dataset, user, key), found in told.items():
            if lost in own_rows(world, datasets[dataset], user, key):
                continue
            is_left = seen_by(case, dataset, user)[key] > 0
            says = (dataset, user, key, lost, sorted(found, key=repr))
            assert is_left is (world.called(lost) not in found), says


TIED_BY_FACTS = """
tiers:
    team: {access_view: access, object_keys: [team_id], carries: []}
datasets:
    every_team:
        base: teams
        columns: [team_id, team_name]
        unique_key: [team_id]
        visible_to: everyone
    units_of_runs:
        query: {dimensions: {unit: units.unit}, measures: {total: count(runs.run_id)}}
        columns: [unit, total]
        unique_key: [unit]
        visible_to: everyone
relations:
    runs: {kind: fact, columns: {run_id: bigint, team_id: bigint, unit_id: bigint}}
    teams: {kind: dimension, columns: {team_id: bigint, team_name: string}}
    units: {kind: dimension, columns: {unit_id: bigint, unit: string}}
    group_units: {kind: mapping, columns: {user_group_id: bigint, unit: string}}
row_security:
    - {unique_name: units, object_type: row_security, label: Units,
       dataset: group_units, filter_key_column: unit, ids_column: user_group_id,
       id_type: group, scope: all}
relationships:
    - {from: {dataset: runs, join_columns: [team_id]}, to: {dataset: teams}}
    - {from: {dataset: runs, join_columns: [unit_id]}, to: {dataset: units}}
    - {from: {dataset: units, join_columns: [unit]}, to: {row_security: units}}
"""


def tied_by_facts(
    runs: list[tuple],
    mapping: list[tuple],
    asked_row: tuple[str, dict] = ("every_team", {"team_id": 1}),
    policies: str = "",
) -> list[str] | None:
    """Return the last support of team 1, which only these facts tie to units.

    `asked_row`: another dataset and row.
    """
    database = Database()
    load_world(database, world := nobody_sees())
    names = {
        "runs": ("run_id", "team_id", "unit_id"),
        "teams": ("team_id", "team_name"),
    }
    names |= {"units": ("unit_id", "unit"), "group_units": ("user_group_id", "unit")}
    rows = {"runs": runs, "teams": [(1, "North")], "units": [(5, "X"), (6, "Y")]}
    for table, columns in names.items():
        database.table(table, columns, (rows | {"group_units": mapping})[table])
    roles = [(1, 1, "Staff"), (1, 2, "Risk")]
    columns = ("user_id", "user_group_id", "role_name")
    database.table("vw_secure_user_roles", columns, roles)
    asked = Asked(TIED_BY_FACTS + policies, database).over(world)
    asked._called["documented_columns"] = dict
    dataset, row = asked_row
    (answer,) = asked.ask(user=1, dataset=dataset, row=row)
    assert answer["seen"]
    rows = answer["last_support"]
    return rows and [row["says"] for row in rows]


def test_W7_of_what_only_facts_tie_to_a_key_one_fact_is_enough():
    staff = (1, "X")
    mapped = "row user_group_id=1, unit=X of group_units"
    one_unit = ["row unit_id=5 of units"]
    # A run of another team, and one that leads to no key.
    runs = [(1, 1, 5), (2, 2, 6), (3, 1, 6)]
    assert tied_by_facts(runs, [staff]) == [mapped, *one_unit, *IN_STAFF]
    # The other unit is the user's too, and another team's.
    of_others = [(1, 1, 5), (2, 2, 6)]
    wanted = [mapped, *one_unit, *IN_STAFF]
    assert tied_by_facts(of_others, [staff, (1, "Y")]) == wanted
    # Another unit of the team is the user's too.
    assert tied_by_facts(runs, [staff, (1, "Y")]) == IN_STAFF
    # Which is a key of the group above.
    assert tied_by_facts(runs, [staff, (2, "Y")]) == IN_STAFF
    # A key that is mapped twice hangs on none of both rows.
    assert tied_by_facts(runs, [staff, staff]) == [*one_unit, *IN_STAFF]


def test_W7_of_what_is_counted_and_judged_the_support_is_not_known():
    given = [(1, 1, 5), (2, 2, 5)], [(1, "X")], ("units_of_runs", {"unit": "X"})
    mapped = "row user_group_id=1, unit=X of group_units"
    assert tied_by_facts(*given) == [mapped, "row unit_id=5 of units", *IN_STAFF]
    # With a run less the total would be another, and the condition not true of it.
    judged = "policies: [{role: Staff, resource: units_of_runs, condition: total = 2}]"
    assert tied_by_facts(*given, judged) is None


def test_W7_who_owns_a_view_and_what_is_decided_about_it_come_from_dbt_s_graph(parsed):
    asked = sample_asked(SAMPLE)
    nodes = [*parsed.nodes.values(), *parsed.sources.values()]
    for node in nodes:
        of_type = asked.graph.sources if node.resource_type == "source" else None
        found = asked.graph.nodes if of_type is None else of_type
        found[node.unique_id] = node.to_dict()
    view = "vw_secure_dataset_authorized_projects"
    columns = ("user_id", "view_name", "outcome", "decided_by")
    row = (8, view, "Transform", "user on dim_projects")
    asked.database.table("view_outcomes", columns, [row])
    given = {"dataset": "authorized_projects", "row": {"project_id": 7}}
    (answer,) = asked.ask(user="hpark", **given)
    assert answer["seen"]
    found = {row["says"] for row in answer["last_support"]}
    decided = [row for row in found if row.endswith(" of view_decisions")]
    # That the user is under the rules of the table opens nothing.
    assert sorted(decided) == [
        "row user_id=12, object_name=dim_projects, decision=Allow of view_decisions",
        f"row user_id=8, object_name={view}, decision=Allow of view_decisions",
    ]
    # The owner, and the role that the condition asks for.
    assert {"row 12 of users", "row 2 of user_groups"} <= found
