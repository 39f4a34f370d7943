"""Why, and why not: W1, W2, W6 and W9, over random worlds in DuckDB.

tests/meaning/test_answers.py asks of sixty worlds that the product builds. Here one
world's relations are given; `WHY_WORLDS=50` in the environment looks at 50.
"""

from __future__ import annotations

import os
import random
from functools import partial
from types import SimpleNamespace

import pytest
import why_page
from oracle.contract import RESULTS_TIER, World
from oracle.policies import Case, Dataset
from own_config import PRODUCTS, document_of
from policy_worlds import NO_ROWS, asked_of_case, load_case
from projects import SAMPLE
from random_policies import document, random_case
from random_worlds import random_world
from tier_questions import nobody_sees, raw
from why_page import sample_asked
from why_sandbox import Asked, Database, load_world

from secure_datasets.config.tiers import tier_parts
from secure_datasets.engines.translation import translated as quickly
from secure_datasets.questions import answers, gates, remedies, rights, text
from secure_datasets.questions.asked import QuestionError

MORE = "WHY_WORLDS" in os.environ
# One in which people see rows of each dataset, and do not see others.
WORLDS = range(int(os.environ["WHY_WORLDS"])) if MORE else [2]
TYPES = {
    "vw_secure_dataset_tests": {"test_id": "bigint"},
    "vw_secure_dataset_metadata_objects": {
        "object_type": "string",
        "object_id": "bigint",
    },
}
ALL_USERS = "select user_id, is_live from stg_users where user_id is not null"


class Sandbox:
    """A world, its published relations, and the question over them."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.database = Database()
        self.staging = load_world(self.database, world)
        asked = Asked(document_of(PRODUCTS), self.database, types=TYPES)
        self.asked: Asked = asked.over(world)
        self.config = self.asked.secure_datasets_config()

    def judged(self, dataset: str) -> list[tuple[tuple, dict]]:
        """Return the answer about each user and row of a dataset."""
        keys = self.config["datasets"][dataset]["unique_key"]
        facts = {
            "dataset": dataset, "columns": [], "below": None,
            "base": f"vw_dataset_{dataset}",
            "cases": self.asked.gate_cases(dataset, self.config),
            "rules": self.asked.rules_on(dataset, self.config, dataset),
            "parts": {
                tier: tier_parts(tier, self.config, self.asked.repository_tables())
                for tier in self.config["tiers"]
            },
            "outcome": None, "roles": [], "security": {}, "paths": [], "links": [],
            "objects": [], "is_query": False, "missing": [], "missed": {},
            "nearest": None,
        }  # fmt: skip
        query = self.asked.gates_query(dataset, self.config, ALL_USERS)
        found = []
        for row in self.database.rows(query):
            person = row | {"rejection_reason": None}
            answer = answers.row_answer(facts | {"found": [row]}, person)
            found.append(((row["user_id"], *(row[key] for key in keys)), answer))
        return found


@pytest.fixture(scope="module", params=WORLDS, ids=lambda seed: f"world {seed}")
def sandbox(request) -> Sandbox:
    return Sandbox(random_world(request.param))


def some_pairs(sandbox: Sandbox, dataset: str, count: int) -> list[tuple]:
    """Return some users with rows, those that are seen and those that are not."""
    chance = random.Random(dataset)
    judged = sorted(sandbox.judged(dataset), key=lambda pair: repr(pair[0]))
    return chance.sample(judged, min(count, len(judged)))


@pytest.mark.parametrize("dataset", ["tests", "test_executions", "event_history"])
def test_W1_the_operation_answers_as_the_law_does(sandbox, dataset):
    keys = sandbox.config["datasets"][dataset]["unique_key"]
    for (user, *values), judged in some_pairs(sandbox, dataset, 6):
        row = dict(zip(keys, values, strict=True))
        found = sandbox.asked.ask(user=user, dataset=dataset, row=row)
        (answer,) = [a for a in found if a["user"]["user_id"] == user]
        assert answer["seen"] is judged["seen"]
        assert answer["closed_gate"] == judged["closed_gate"]
        states = [gate["state"] for gate in answer["gates"]]
        assert states == [gate["state"] for gate in judged["gates"]]


def paths_in(notes: list[dict]) -> set[tuple]:
    """Return the paths that evidence lists: the granting row and the membership's."""
    found = set()
    for note in notes:
        if "path_kind" in note:
            names = ("permission_name", "path_kind", "grant_table", "grant_id")
            found.add((*(note[name] for name in names), note["user_group_member_id"]))
        found |= paths_in(note["evidence"])
    return found


def test_W2_an_open_tier_gate_lists_all_paths(sandbox):
    asked = 0
    for dataset in ("tables", "test_executions"):
        for (user, *values), judged in some_pairs(sandbox, dataset, 400):
            if not judged["seen"] or asked > 12:
                continue
            asked += 1
            keys = sandbox.config["datasets"][dataset]["unique_key"]
            row = dict(zip(keys, values, strict=True))
            found = sandbox.asked.ask(user=user, dataset=dataset, row=row)
            (answer,) = [a for a in found if a["user"]["user_id"] == user]
            wanted = set()
            for right, object_type, objects in rights_asked(
                sandbox, dataset, values[0]
            ):
                ids = ", ".join(map(str, objects))
                wanted |= {
                    tuple(path.values())
                    for path in sandbox.database.rows(
                        "select permission_name, path_kind, grant_table, grant_id,"
                        " user_group_member_id from explained_access_paths"
                        f" where user_id = {user} and permission_name = '{right}'"
                        f" and object_type = '{object_type}' and object_id in ({ids})"
                    )
                }
            assert wanted
            assert paths_in(answer["gates"][2]["evidence"]) == wanted
    # In some of many worlds nobody sees any.
    assert asked or MORE


def rights_asked(sandbox: Sandbox, dataset: str, key: int) -> list[tuple]:
    """Return what the contract asks for on a row: permission, object type, objects."""
    (row,) = sandbox.database.rows(
        f"select * from vw_dataset_{dataset} where {dataset[:-1]}_id = {key}"
    )
    if dataset == "tables":
        return [("View Metadata", "Data Source", [row["data_source_id"]])]
    sides = [row[side] for side in RESULTS_TIER[dataset] if row[side] is not None]
    return [
        ("View Test Results", "Data Source", sides),
        ("Project Member", "Project", [row["project_id"]]),
    ]


# ---------------------------------------------------------------------------
# Policies
# ---------------------------------------------------------------------------

CASES = range(int(os.environ.get("RANDOM_POLICIES", 12)))


@pytest.mark.parametrize(
    ("first", "login", "email", "said", "above"),
    [
        ("Ann", "ann", None, "Ann (ann, user 7)", "User 7, Ann (ann)"),
        ("Ann", None, "a@b.org", "Ann (user 7)", "User 7, Ann"),
        (None, "cblecker", "a@b.org", "cblecker (user 7)", "User 7, cblecker"),
        ("", "", "a@b.org", "a@b.org (user 7)", "User 7, a@b.org"),
        (None, None, None, "User 7", "User 7"),
    ],
)
def test_a_user_without_a_name_is_called_by_login_address_or_id(
    first, login, email, said, above
):
    person = {"user_id": 7, "first_name": first, "last_name": None}
    person |= {"login_name": login, "email": email}
    assert text.called(person) == said
    assert text.as_user(person | {"is_live": True}) == above
    assert text.as_user(person | {"is_live": False}) == (
        f"{above}: not active, so nothing but the global events"
    )


def policies_sandbox(seed: int) -> tuple[Case, Database, Asked]:
    """Return a random case of policies, its tables, and the question over them.

    What is over another dataset reads what the evaluator expects that to show.
    """
    case, database = random_case(seed), Database()
    users = [
        (user, "u", "f", "l", None, user not in case.gone, None)
        for user in [*case.users, *case.gone]
    ]
    names = ("user_id", "login_name", "first_name", "last_name", "email")
    load_case(database, case)
    unknown = ("raw_row", "date_modified", "modified_by", "is_deleted", "deleted_on")
    known = dict.fromkeys(unknown, "VARCHAR")
    columns = (*names, "is_live", "rejection_reason", *known)
    users = [(*user, *(None for _ in known)) for user in users]
    database.table("stg_users", columns, users, known)
    # Here groups and roles are given, and not made of rows.
    for table, columns in NO_ROWS.items():
        database.table(table, columns, [])
    return case, database, asked_of_case(database, case, document(case))


# Their layers are so deep that DuckDB reads each question for seconds.
DEEP = {5, 8}


@pytest.mark.parametrize(
    "seed",
    [
        pytest.param(seed, marks=pytest.mark.nightly) if seed in DEEP else seed
        for seed in CASES
    ],
)
def test_W1_W6_policies_show_and_mask_as_the_evaluator_says(seed):
    case, _, asked = policies_sandbox(seed)
    for dataset in case.datasets:
        expected = case.expected()[dataset.name]
        is_query = dataset.is_query
        keys = [c for c in dataset.columns if c != "total"] if is_query else ["run_id"]
        for user in [*list(case.users)[: 2 - len(case.gone)], *case.gone]:
            shown = {
                tuple(row[key] for key in keys): row
                for row in expected
                if row["user_id"] in (user, None)
            }
            everything = every_key(case, dataset, keys, shown)
            for key in everything[:4]:
                row = dict(zip(keys, key, strict=True))
                (answer,) = asked.ask(user=user, dataset=dataset.name, row=row)
                assert answer["seen"] is (key in shown), (dataset.name, user, row)
                _, *others = closed_gates(answer) or [None]
                beside = [each["gate"] for each in answer["closed_beside"]]
                assert beside == [gate for gate in others if gate != "tier"]
                if key in shown and not is_query:
                    compare_masks(case, dataset, user, key[0], answer)


def closed_gates(answer: dict) -> list[str]:
    """Return the names of the gates that are closed."""
    return [gate["gate"] for gate in answer["gates"] if gate["state"] == "closed"]


def every_key(case: Case, dataset: Dataset, keys: list[str], shown: dict) -> list:
    """Return keys to ask about: those that are shown and others."""
    if dataset.is_query:
        return list(shown)
    return [(row["run_id"],) for row in case.rows]


def compare_masks(case: Case, dataset: Dataset, user: int, run: int, answer: dict):
    """Hold the mask that an answer says is put on against the evaluator."""
    end = dataset
    while dataset.is_authorized and end.below:
        end = next(d for d in case.datasets if d.name == end.below)
    if dataset.is_authorized and case.outcomes[dataset.name, user] == "Allow":
        assert not any(mask["mask"] for mask in answer["masks"])
        return
    row = next(row for row in case.rows if row["run_id"] == run)
    if end.below:
        below = next(d for d in case.datasets if d.name == end.below)
        row = next(r for r in case.seen(below, user) if r["run_id"] == run)
    for item in answer["masks_below"]:
        below = next(d for d in case.datasets if d.name == item["dataset"])
        assert {m["column"] for m in item["masks"]} <= set(dataset.columns)
        compare_masks(case, below, user, run, {"masks_below": []} | item)
    if dataset.below and not dataset.is_authorized:
        below = next(d for d in case.datasets if d.name == dataset.below)
        columns = {m.column for m in case.of(below.name)[1]} & set(dataset.columns)
        shown = {m["column"] for item in answer["masks_below"] for m in item["masks"]}
        assert shown == columns

    roles = case.users[user] | case.groups[user]
    for mask in answer["masks"]:
        put_on = None
        masks = [m for m in case.of(end.name)[1] if m.column == mask["column"]]
        for policy in sorted(masks, key=lambda policy: -policy.mask_order):
            if put_on is None and case.is_put_on(policy, row, roles):
                put_on = policy
        for role in mask["shown_to"]:
            # Who holds it as well sees the row, and no mask on it.
            holding = roles | {role}
            assert not any(case.is_put_on(policy, row, holding) for policy in masks)
        said = [item for item in mask["evidence"] if item["is_put_on"]]
        assert len(mask["evidence"]) == len(masks)
        orders = [item["mask_order"] for item in mask["evidence"]]
        assert orders == sorted(orders, reverse=True)
        if put_on is None:
            assert said == []
        else:
            assert [item["mask_order"] for item in said] == [put_on.mask_order]


# ---------------------------------------------------------------------------
# Questions that can't be answered
# ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def small() -> Sandbox:
    return Sandbox(random_world(1))


KNOWN = "known are tables, columns, metadata_objects, tests, jobs, job_executions,"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"user": "nobody", "dataset": "tests", "row": {"test_id": 1}},
         "why: there is no user with the id, login name or e-mail address 'nobody'."),
        ({"user": " ", "dataset": "tests", "row": {"test_id": 1}},
         "why: 'user' is missing: a user's id, login name or e-mail address."),
        ({"user": 1, "dataset": "testz", "row": {"test_id": 1}},
         f"why: there is no dataset 'testz'; {KNOWN}"),
        ({"user": 1, "tier": "gold", "object": {"project_id": 1}},
         "why: there is no tier 'gold'; known are data_source, project, results."),
        ({"user": 1, "dataset": "tests", "row": {"id": 1}},
         "why: a row of 'tests' is asked for by test_id, not by 'id'."),
        ({"user": 1, "dataset": "metadata_objects", "row": "object_id=1"},
         "why: a row of 'metadata_objects' is asked for by object_type, object_id, and"
         " 'object_type' is missing."),
        ({"user": 1, "tier": "results", "object": {"project_id": 1}},
         "why: an object of 'results' is asked for by project_id, meta_data_source_id,"
         " and 'meta_data_source_id' is missing."),
        ({"user": 1, "tier": "project", "object": "project_id=one"},
         "why: 'project_id' is 'one', which is no id."),
        ({"user": 1, "tier": "project", "object": {"project_id": "+-5"}},
         "why: 'project_id' is '+-5', which is no id."),
        ({"user": 1, "tier": "project", "object": {"project_id": 2**63}},
         "why: 'project_id' is '9223372036854775808', which is no id."),
        ({"user": 1, "tier": "x\x1b[31m\n"}, "why: there is no tier 'x?[31m?'; known"),
        ({"user": 1, "dataset": "tests", "row": "12"},
         "why: 'row' is '12', which is no list of keys and values: a row of 'tests' is"
         " asked for by test_id, such as test_id=1."),
        ({"user": 1, "tier": "results", "object": "1 6"},
         "why: 'object' is '1 6', which is no list of keys and values: an object of"
         " 'results' is asked for by project_id, meta_data_source_id, such as"
         " project_id=1, meta_data_source_id=1."),
        ({"user": 1, "dataset": "tests", "row": 'test_id="12"'},
         "why: 'test_id' is '\"12\"', which is no number: a row of 'tests' is asked for"
         " by test_id."),
        ({"user": 1, "dataset": "tests", "row": {"test_id": 1.5}},
         "why: 'test_id' is '1.5', which is no number: "),
        ({"user": 1}, "why: ask about a row, by 'dataset' and 'row', or about"),
        ({"user": 1, "dataset": "tests", "tier": "project"},
         "why: both 'dataset' and 'tier' are given, 'tests' and 'project': ask about"
         " one of them."),
        ({"user": 1, "dataset": "tests", "row": "test_id=1", "object": "project_id=1"},
         "why: 'object' says nothing of a dataset: give its 'row'."),
        ({"user": 1, "dataset": "tests", "row": {"test_id": 1}, "format": "xml"},
         "why: there is no format 'xml'; known are text and json."),
        ({"user": 1, "dataset": "tests", "row": {"test_id": 4711}},
         "why: test_id=4711 of the dataset 'tests' is nowhere: "),
        ({"user": 1, "tier": "project", "object": {"project_id": 4711}},
         "why: project_id=4711 of the tier 'project' is nowhere: "),
        # The smallest of all ids.
        ({"user": 1, "tier": "project", "object": {"project_id": -(2**63)}},
         "why: project_id=-9223372036854775808 of the tier 'project' is nowhere: "),
    ],
)  # fmt: skip
def test_W9_a_question_that_has_no_answer_is_one_sentence(small, given, sentence):
    with pytest.raises(QuestionError) as stopped:
        small.asked.why(**given)
    told = str(stopped.value)
    assert told.startswith(sentence)
    assert told.endswith(".") and "\n" not in told


def test_W9_a_key_that_is_no_number_may_be_any_text(small):
    given = {"dataset": "metadata_objects", "row": "object_type=12, object_id=1"}
    with pytest.raises(QuestionError, match="is nowhere: "):
        small.asked.why(user=1, **given)


def test_W9_two_users_with_one_address_are_both_answered():
    world = nobody_sees()
    mail = "two@example.com"
    world["users"] = [raw("users", id=i, login_name="u", email=mail) for i in (2, 1)]
    found = Sandbox(world).asked.ask(
        user="TWO@example.com", dataset="tests", row={"test_id": 1}
    )
    assert [answer["user"]["user_id"] for answer in found] == [1, 2]


@pytest.mark.parametrize("user", ["1", "ANN", " ann@Example.com"])
@pytest.mark.parametrize("rejected", [{"date_last_login": "15/06/2026"}, {}])
def test_W9_a_user_whose_row_is_rejected_is_found_by_all_that_was_delivered(
    user, rejected
):
    person = {"id": 1, "login_name": " Ann", "email": "ann@example.com\u00a0"}
    world = nobody_sees()
    world["users"] = [raw("users", **person | rejected), raw("users", id=2)]
    (answer,) = Sandbox(world).asked.ask(
        user=user, tier="project", object={"project_id": 1}
    )
    assert answer["user"]["user_id"] == 1
    assert answer["closed_gate"] == ("user" if rejected else "tier")
    assert "example.com" not in str(answer)


TWICE = [
    raw("users", id=1, login_name="ann", email="a@x.org"),
    raw("users", id=1, login_name="\u2003Anna", email="b@x.org"),
]
# It was called so before.
BEFORE = raw("users", id=1, login_name="jo", date_modified="2025-01-01 00:00:00")


@pytest.mark.parametrize("users", [TWICE, TWICE[::-1]])
def test_W9_a_user_in_conflict_is_found_by_each_of_the_deliveries(users):
    world = nobody_sees() | {"users": [BEFORE, *users, raw("users", id=2)]}
    database = Database()
    load_world(database, world)
    asked = Asked(document_of(PRODUCTS), database).over(world)
    for user in ("1", "ann", "ANNA", "a@x.org", "B@x.org"):
        given = {"tier": "project", "object": {"project_id": 1}}
        (answer,) = asked.ask(user=user, **given)
        assert answer["user"]["user_id"] == 1
        assert answer["closed_gate"] == "user"
        assert "x.org" not in str(answer)
    with pytest.raises(QuestionError, match="there is no user"):
        asked.why(user="jo", **given)


def test_W1_the_first_line_is_the_answer_and_each_gate_has_a_line(small):
    for (user, test), judged in small.judged("tests")[:40]:
        lines = small.asked.lines(user=user, dataset="tests", row={"test_id": test})
        first = next(line for line in lines if line)
        assert (" sees " in first) is judged["seen"]
        if not judged["seen"]:
            assert f": {judged['closed_gate']}: " in first
        for gate in judged["gates"]:
            assert any(
                line.startswith(f"  {gate['gate']:18}  {gate['state']:9}  ")
                for line in lines
            )


def test_W1_a_key_that_is_there_twice_is_seen_where_one_of_its_rows_is():
    facts = {
        "base": "b", "below": None, "cases": [], "rules": [], "is_query": False,
        "nearest": None, "outcome": None, "security": {},
    }  # fmt: skip
    person = {"user_id": 1, "is_live": False, "rejection_reason": None}
    rows = [{"is_public": is_public} for is_public in (False, True, False)]
    answer = answers.row_answer(facts | {"found": rows}, person)
    assert answer["seen"]
    answer = answers.row_answer(facts | {"found": rows[:1]}, person)
    assert answer["closed_gate"] == "user"


def test_W2_a_path_is_to_one_right_on_one_object():
    path = {
        "object_type": "A", "object_id": 1, "permission_name": "See",
        "path_kind": "User", "grant_table": "t", "grant_id": 1,
        "user_group_member_id": None, "group_chain": None,
    }  # fmt: skip
    others = [{"object_type": "B"}, {"object_id": 2}, {"permission_name": "Edit"}]
    facts = {"paths": [*(path | other for other in others), path]}
    right = {"object_type": "A", "permission": "See", "key": "a_id"}
    assert rights.paths_to(facts, right, {"a_id": 1}) == [path]


def test_W6_masks_of_the_datasets_below_are_those_of_columns_that_one_sees():
    def masks(*columns: str) -> list[dict]:
        return [{"column": column, "mask": "0"} for column in columns]

    lower = [{"dataset": "low", "masks": masks("b", "c")}]
    lower += [{"dataset": "lowest", "masks": masks("c")}]
    answer = {"masks": masks("a", "c"), "masks_below": lower}
    facts = {"columns": ["a", "b"], "below": {"dataset": "mid", "answer": answer}}
    assert gates.masks_below(facts) == [
        {"dataset": "mid", "masks": masks("a")},
        {"dataset": "low", "masks": masks("b")},
    ]
    assert gates.masks_below(facts | {"below": None}) == []


def test_W6_who_is_allowed_a_view_is_under_no_mask():
    policy = {"roles": ["A"], "is_except": False, "condition": "true"}
    policy |= {"mask": "'x'", "mask_order": 0}
    rule = {"gate": "masks", "column": "unit", "title": "mask on unit", "rule": policy}
    row = {"rule_1": False, "rule_1_is_for": True, "rule_1_says": True}
    facts = {"rules": [rule]}
    (free,) = gates.masks_of_row(facts, row, is_free=True)
    assert free["mask"] is None
    (told,) = free["evidence"]
    assert told["says"].endswith(
        ": it is passed over: view authorization allows all values"
    )
    (masked,) = gates.masks_of_row(facts, row | {"rule_1": True}, is_free=False)
    assert masked["mask"] == "'x'"


def test_W6_a_mask_is_told_in_words_and_by_its_order_only_beside_others():
    policy = {"roles": ["A"], "is_except": True, "condition": "x > 1"}
    rules = [
        {"gate": "masks", "column": "unit", "title": "mask on unit",
         "rule": policy | {"mask": mask, "mask_order": order}}
        for order, mask in enumerate(("'x'", "'y'"))
    ]  # fmt: skip
    row = {"rule_1": True, "rule_1_is_for": True, "rule_1_says": True}
    row |= {f"rule_2{part}": False for part in ("", "_is_for", "_says")}
    (alone,) = gates.masks_of_row({"rules": rules[:1], "roles": []}, row, False)
    assert alone["says"] == "unit is shown as 'x' (mask); who holds A sees it as it is"
    (told,) = alone["evidence"]
    assert told["says"] == (
        "the mask is for all but A: the user does not hold A; its condition x > 1 is"
        " true: it is put on"
    )
    (both,) = gates.masks_of_row({"rules": rules, "roles": ["A"]}, row, False)
    assert [item["says"].rpartition(": ")[2] for item in both["evidence"]] == [
        *("'x' (order 0) is put on", "'y' (order 1) is passed over"),
    ]


@pytest.mark.parametrize(
    ("masks", "conditions", "wanted"),
    [
        ([(True, ["A", "B"], True)], [], ["A", "B"]),
        ([(True, ["A", "B"], True), (True, ["B"], True)], [], ["B"]),
        # It is for who holds a role, and holding another changes nothing.
        ([(False, ["A"], True)], [], []),
        ([(True, ["A"], True), (False, ["A"], False)], [], []),
        ([(True, ["A"], True), (False, ["B"], False)], [], ["A"]),
        # The row would be gone.
        ([(True, ["A", "B"], True)], [(False, ["A"], True)], ["B"]),
    ],
)
def test_W6_who_sees_a_masked_value_is_told_where_it_is_certain(
    masks, conditions, wanted
):
    rules, row = [], {}
    for gate, found in (("masks", masks), ("conditions", conditions)):
        for is_except, roles, applies in found:
            policy = {"roles": roles, "is_except": is_except, "condition": "true"}
            policy |= {"mask": "0", "mask_order": 0}
            rules.append({"gate": gate, "column": "c", "title": "t", "rule": policy})
            rules[-1]["verb"] = "masks" if gate == "masks" else "hides"
            number = len(rules)
            row |= {f"rule_{number}": applies, f"rule_{number}_is_for": applies}
            row |= {f"rule_{number}_says": True}
    (told,) = gates.masks_of_row({"rules": rules}, row, is_free=False)
    assert told["shown_to"] == wanted
    below = {"dataset": "low", "answer": {}}
    (told,) = gates.masks_of_row({"rules": rules, "below": below}, row, False)
    assert told["shown_to"] == []


def gates_of(answer: dict) -> dict[str, tuple[str, str]]:
    """Return state and sentence of each gate."""
    return {gate["gate"]: (gate["state"], gate["says"]) for gate in answer["gates"]}


def test_W1_a_null_key_of_a_query_is_a_key_as_any_other(bank):
    asked = bank
    for row in ("business_unit=null", {"business_unit": None}):
        (answer,) = asked.ask(user=8, dataset="executions_by_unit", row=row)
        gates = gates_of(answer)
        assert gates["row"][0] == "open"
        assert gates["tier"] == ("not asked", "it has no tier")
        assert gates["row security"][0] == "closed"
        assert "there is no row to ask about" not in str(answer)
        helps = "no grant helps: the row leads to no key, and so nobody sees it here"
        assert answer["what_helps"] == helps


def test_W4_what_opens_the_tier_alone_is_not_told_as_enough(bank):
    """New rights open the tier of a row that row security shows to nobody."""
    row = {"dataset": "star_test_executions", "row": {"test_execution_id": 166}}
    (answer,) = bank.ask(user=25, **row)
    assert answer["closed_gate"] == "tier" and answer["nearest"]
    beside = {each["gate"]: each for each in answer["closed_beside"]}
    closed = {
        name for name, (state, _) in gates_of(answer).items() if state == "closed"
    }
    assert set(beside) == closed - {"tier"} and "row security" in beside
    helps = "no grant helps: the row leads to no key, and so nobody sees it here"
    assert beside["row security"]["what_helps"] == helps
    lines = [line.strip() for line in bank.lines(user=25, **row)]
    place = lines.index("Nearest missing grants")
    # To a key that is null nothing leads.
    assert lines[place + 1].startswith("All sets leave row security closed: ")
    assert lines[place + 1].endswith(f"; {helps}.")
    # Of a tier that is open, each gate behind the first closed one is told by itself.
    row = {"dataset": "star_test_executions", "row": {"test_execution_id": 135}}
    (answer,) = bank.ask(user="praman", **row)
    assert answer["closed_gate"] == "row security"
    (beside,) = answer["closed_beside"]
    says = dict(gates_of(answer))["conditions"][1]
    helps = "the conditions show it to who holds Data Office or who holds Operations"
    assert beside == {"gate": "conditions", "says": says, "what_helps": helps}
    lines = bank.lines(user="praman", **row)
    place = lines.index(f"The gate conditions is closed, too: {says}; {helps}.")
    assert answer["what_helps"][1:] in lines[place - 1]
    # Where nothing else is closed, nothing is said.
    (answer,) = bank.ask(user=8, dataset="tests", row={"test_id": 12})
    assert answer["closed_gate"] == "tier" and answer["closed_beside"] == []


def test_W5_row_security_is_opened_by_a_membership_too(bank, monkeypatch):
    given = {"dataset": "executions_by_unit", "row": {"business_unit": "Finance"}}
    (answer,) = bank.ask(user=8, **given)
    assert answer["what_helps"] == (
        "no grant of a tier helps: the row's key, Finance, belongs to none of the"
        " user's keys; it takes a row of map_user_group_business_units that gives a"
        " group of the user that key, or a membership in a group that has it, by itself"
        " or from above: Finance Analysts (11), Finance Control (9)"
    )
    read_world = why_page.read_world

    def with_member(group: int):
        def world_of(path):
            world = read_world(path)
            row = raw("user_group_members", id=999, user_group_id=group, user_id=8)
            return world | {"user_group_members": [*world["user_group_members"], row]}

        monkeypatch.setattr(why_page, "read_world", world_of)
        return sample_asked(SAMPLE).ask(user=8, **given)[0]["seen"]

    assert [with_member(group) for group in (9, 11, 12)] == [True, True, False]


def test_W5_of_many_groups_that_have_a_key_some_are_told():
    found = {"user_keys": [], "row_keys": ["X"], "is_of_groups": True, "mapping": "m"}
    found["groups"] = [{"user_group_id": i, "name": None} for i in range(7)]
    facts = {"rules": [{"gate": "row security"}], "security": {1: found}}
    says = remedies.what_helps({"gate": "row security"}, facts, {}, None)
    assert says.endswith(": (no name) (0), (no name) (1), (no name) (2), (no name) (3),"
                         " (no name) (4), and 2 more")  # fmt: skip
    # Nobody could be a member of what there is not.
    says = remedies.what_helps(
        {"gate": "row security"},
        facts | {"security": {1: found | {"groups": []}}},
        {},
        None,
    )
    assert says.endswith("a group of the user that key")


DENIED = {"outcome": "Deny", "owner_id": None, "owner_is_live": None}


@pytest.mark.parametrize(
    ("outcome", "wanted"),
    [
        (None, "no grant helps: it takes a decision that opens the view to the user"),
        ({"decided_by": "user on v"},
         "no grant helps: it takes a decision that opens the view to the user"),
        ({"decided_by": "no owner on t"},
         "no grant and no decision helps: a view that reads t has no owner, and so"
         " nobody sees it"),
        ({"decided_by": "owner 12 on t", "owner_id": 12, "owner_is_live": True},
         "no grant helps: it takes a decision first that opens t to user 12, by whose"
         " view it is read"),
        ({"decided_by": "owner 12 on t", "owner_id": 12, "owner_is_live": False},
         "no grant and no decision helps: an owner of the view or of one behind it,"
         " user 12, is not active, and so nobody sees it"),
    ],
)  # fmt: skip
def test_W1_a_view_that_is_closed_says_whose_decision_opens_it(outcome, wanted):
    facts = {"outcome": outcome and DENIED | outcome}
    gate = {"gate": "view authorization"}
    assert remedies.what_helps(gate, facts, {}, None) == wanted


@pytest.mark.parametrize("is_live", [True, False])
def test_W1_the_owner_by_whom_a_view_is_closed_is_told(bank, is_live):
    view = "vw_secure_dataset_authorized_projects"
    row = (8, view, "Deny", "owner 12 on dim_projects")
    columns = ("user_id", "view_name", "outcome", "decided_by")
    bank.database.table("view_outcomes", columns, [row])
    if not is_live:
        bank.database.connection.execute(
            "update stg_users set is_live = false where user_id = 12"
        )
    given = {"dataset": "authorized_projects", "row": {"project_id": 7}}
    (answer,) = bank.ask(user="hpark", **given)
    assert answer["closed_gate"] == "view authorization"
    assert "user 12" in answer["what_helps"]
    assert ("is not active" in answer["what_helps"]) is not is_live
    # The quick engine answers it as Spark does, or raises.
    (query,) = (q for q in bank.database.queries if " as outcomes " in q)
    assert quickly(query).sql


@pytest.mark.parametrize("number", ["01", "+1", "1"])
def test_W9_a_number_is_the_same_however_it_is_written(small, number):
    (row,) = small.database.rows("select min(test_id) as id from vw_dataset_tests")
    key = number.replace("1", str(row["id"]))
    user = small.database.rows(ALL_USERS)[0]["user_id"]
    found = small.asked.ask(user=user, dataset="tests", row=f"test_id={key}")
    assert found[0]["gates"][0]["state"] == "open"


def test_W6_conditions_that_hide_a_row_say_which_role_would_show_it():
    def rule(role: str, is_except: bool, says: bool | None) -> tuple[dict, dict]:
        policy = {"roles": [role], "is_except": is_except, "condition": "x"}
        held = {"gate": "conditions", "title": f"t of {role}", "rule": policy}
        # Here whatever spares a role is restrictive, and not true for the user.
        held["verb"] = "hides" if is_except else "shows"
        applies = is_except and not says
        return held, {"": applies, "_is_for": applies, "_says": says}

    def helps(*rules: tuple[dict, dict]) -> str:
        row = {
            f"rule_{number}{part}": value
            for number, (_, said) in enumerate(rules, 1)
            for part, value in said.items()
        }
        facts = {"rules": [held for held, _ in rules], "roles": []}
        gate = gates.conditions_gate(facts, row, False)
        return remedies.what_helps(gate, facts, {"user_id": 1}, row)

    nothing = "no role helps: no condition is true of the row"
    assert helps(rule("A", False, False), rule("B", False, None)) == nothing
    assert helps(rule("A", False, True), rule("B", True, True)) == (
        "the conditions show it to who holds A"
    )
    assert helps(rule("A", False, True), rule("B", True, None)) == (
        "no grant of a tier helps: t of B hides it from who does not hold B, and no"
        " role of the user shows it"
    )


@pytest.mark.parametrize(
    ("tables", "stored", "of_before", "wanted"),
    [
        ([], [], [], None),
        (["projects", "users"], [], ["shown"],
         "Not as it is shown yet: since 'tests' was made, other rows of projects, users"
         " were staged."),
        (["projects"], [], ["paths"],
         "Not of one state: since paths was made, other rows of projects were staged."),
        ([], ["mapping"], ["shown"],
         "Not as it is shown yet: since 'tests' was made, mapping was made anew."),
        (["users"], ["a", "b"], ["paths", "shown"],
         "Not as it is shown yet: since 'tests' and paths were made, other rows of"
         " users were staged, and a, b were made anew."),
    ],
)  # fmt: skip
def test_W1_an_answer_that_is_not_as_it_is_shown_says_so(
    tables, stored, of_before, wanted
):
    question = {"kind": "dataset", "name": "tests", "shown": "shown"}
    answer = {"staged_since": tables, "made_since": stored, "of_before": of_before}
    rest = (
        " The answer is by the newest of each that is built, and may be that of neither"
        " state: run dbt, and ask again."
    )
    assert text.caveat(question, answer) == ([wanted + rest] if wanted else [])


OF_PATHS = [
    *("explained_access_paths", "int_access_paths", "int_securable_objects"),
    *("int_user_group_ancestors", "role_permissions"),
]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"dataset": "tests", "row": "test_id=1"},
         ["vw_secure_dataset_tests", "vw_dataset_tests",
          "vw_secure_user_project_access", *OF_PATHS]),
        ({"tier": "project", "object": "project_id=1"},
         ["vw_secure_user_project_access", *OF_PATHS]),
        ({"dataset": "executions_by_unit", "row": "business_unit=Finance"},
         ["vw_secure_dataset_executions_by_unit", "vw_secure_user_roles"]),
        ({"dataset": "authorized_projects", "row": "project_id=7"},
         ["vw_secure_dataset_authorized_projects", "dim_projects", "view_outcomes",
          "view_decisions", "vw_secure_user_roles", "vw_secure_user_project_access",
          *OF_PATHS]),
    ],
)  # fmt: skip
def test_W1_all_that_an_answer_reads_is_asked_whether_it_is_of_one_state(
    given, wanted, bank
):
    bank.since |= {"tables": ["users"], "of_before": wanted[-1:]}
    (answer,) = bank.ask(user="hpark", **given)
    assert list(dict.fromkeys(bank.asked_since)) == wanted
    assert answer["staged_since"] == ["users"]
    told = "Not of one state: since " if len(wanted) > 1 else "Not as"
    assert any(line.startswith(told) for line in bank.lines(user="hpark", **given))


@pytest.mark.parametrize(
    ("missing", "said"),
    [
        (["vw_dataset_tests"],
         "there is no vw_dataset_tests in the schema 'pr_12': run"),
        (["stg_users", "role_permissions", "vw_dataset_tests"],
         "there is no stg_users in the schema 'pr_12', and 2 more that it asks"
         " are missing: run"),
    ],
)  # fmt: skip
def test_W9_what_no_run_has_built_is_told_before_anything_is_asked(missing, said, bank):
    node = {"resource_type": "model", "schema": "pr_12", "database": None}
    bank.graph.nodes = {
        name: node | {"name": name, "alias": name}
        for name in (*missing, "stored_elsewhere")
    }
    bank.since |= {"not_built": [*missing, "stored_elsewhere"]}
    bank._called["not_built"] = partial(bank._call, "not_built")
    adapter = bank._templates["why"].globals["adapter"]
    there = {"get_relation": lambda *name: name[2] == "stored_elsewhere"}
    bank.stand_in(adapter=SimpleNamespace(**vars(adapter) | there), rows_of=None)
    with pytest.raises(QuestionError) as stopped:
        bank.why("hpark", dataset="tests", row="test_id=1")
    assert f"why: {said} dbt there first" in str(stopped.value)


@pytest.fixture
def bank():
    """The question over the sample, as the bank's config asks it."""
    asked = sample_asked(SAMPLE)
    columns = ("user_id", "view_name", "outcome", "decided_by")
    asked.database.table("view_outcomes", columns, [])
    return asked
