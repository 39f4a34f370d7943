"""The nearest missing grants, W4, and their laws on random worlds, W5.

`WHY_WORLDS=50` in the environment looks at 50 worlds.
"""

from __future__ import annotations

import os
import random
from dataclasses import replace
from itertools import combinations, product
from types import SimpleNamespace

import pytest
import yaml
from oracle.contract import (
    COLUMNS,
    TABLES,
    World,
    evaluate,
    stage,
)
from own_config import PRODUCTS, document_of, together
from projects import SAMPLE
from random_worlds import random_world
from tier_questions import NAMES, VIEWS, Question, nobody_sees, raw, reached, to_user
from why_page import roles_of_users, sample_asked
from why_sandbox import Asked, Database, load_world

from secure_datasets.questions import missing, text
from secure_datasets.questions.notes import GATES

FIRST_NEW_ID = 10**6
MORE = "WHY_WORLDS" in os.environ
WORLDS = range(int(os.environ["WHY_WORLDS"])) if MORE else [1, 5]


PERSON = {"user_id": 1, "login_name": "ann", "first_name": None, "last_name": None}


def with_rows(world: World, rows: list[tuple[str, dict]]) -> World:
    """Return a world with rows that are new, as the loader would bring them."""
    more = {table: list(found) for table, found in world.items()}
    for table, values in rows:
        # What is new already in the world keeps its id.
        new_id = FIRST_NEW_ID + len(more[table])
        more[table].append(raw(table, id=new_id, **values))
    return more


def as_rows(found: missing.GrantSet) -> list[tuple[str, dict]]:
    """Return the rows of a set as tables and values."""
    return [(row.table, dict(row.values)) for row in found.rows]


def closed_questions(world: World, seed: int, count: int) -> list[tuple]:
    """Return some live users with live objects that are closed to them."""
    chance = random.Random(seed)
    staging = stage(world)
    users = sorted(staging.live("users"))
    projects = sorted(staging.live("projects"))
    sources = sorted(staging.live("meta_data_sources"))
    found: list[tuple] = []
    if not (users and projects and sources):
        return found
    for _ in range(20 * count):
        user, tier = chance.choice(users), chance.choice(list(VIEWS))
        project, one, two = (
            chance.choice(projects),
            chance.choice(sources),
            chance.choice(sources),
        )
        keys = {
            "data_source": [(one,)],
            "project": [(project,)],
            "results": [(project, one), (project, two)],
        }[tier]
        if any(key not in reached(world, user)[tier] for key in keys):
            found.append((user, tier, keys))
        if len(found) == count:
            break
    return found


def sides_of(tier: str, keys: list[tuple[int, ...]]) -> list[tuple[str, dict]]:
    return [(tier, dict(zip(NAMES[tier], key, strict=True))) for key in keys]


@pytest.mark.parametrize("seed", WORLDS)
def test_W5_each_set_is_sound_and_minimal_and_gives_what_it_says(seed):
    world = random_world(seed)
    question, looked_at = Question(world), 0
    for user, tier, keys in closed_questions(world, seed, 4):
        before = reached(world, user)
        sets = question.sets(user, sides_of(tier, keys))
        assert sets, "a live user can be given what is on live objects"
        assert len(sets) <= missing.LIMIT
        assert sets == sorted(sets, key=lambda s: (len(s.rows), s.weight))
        for found in [*sets[:3], *sets[-2:]]:
            rows = as_rows(found)
            after = reached(with_rows(world, rows), user)
            # Sound.
            assert set(keys) <= after[tier]
            # Minimal.
            for part in combinations(rows, len(rows) - 1):
                less = reached(with_rows(world, list(part)), user)
                assert not set(keys) <= less[tier]
            # What else.
            asked = {tier: set(keys)}
            for name, objects in after.items():
                more = objects - before[name] - asked.get(name, set())
                assert found.gained[name] == more, (user, tier, keys, rows)
            looked_at += 1
    # In some of many worlds nobody is left to ask about.
    assert looked_at or MORE


def tiny_world(seed: int) -> World:
    """Two groups, two projects, two data sources, and few rows between them."""
    chance = random.Random(seed)
    world = nobody_sees()
    world["projects"].append(raw("projects", id=2, name="Cards"))
    world["meta_data_sources"].append(raw("meta_data_sources", id=2, name="dwh"))
    world["project_data_sources"] = []
    world["user_group_members"] = []
    world["user_groups"][0]["parent_user_group_id"] = chance.choice(["2", None])
    rows = chance.sample(universe(), chance.randint(1, 5))
    return with_rows(
        world,
        [
            (t, dict(v) | {"user_id": v.get("user_id")})
            if "user_id" in TABLES[t]
            else (t, v)
            for t, v in rows
        ],
    )


def universe() -> list[tuple[str, dict]]:
    """Return every single row that could be added to a tiny world."""
    holders = [{"user_id": 1}, {"user_group_id": 1}, {"user_group_id": 2}]
    rows = [
        ("data_source_permissions", {"meta_data_source_id": o, "role_name": r} | holder)
        for o in (1, 2)
        for r in ("ViewMetadata", "ViewTestResults", "Viewer")
        for holder in holders
    ]
    rows += [
        ("project_permissions", {"project_id": o} | holder)
        for o in (1, 2)
        for holder in holders
    ]
    rows += [
        ("user_group_members", {"user_group_id": group, "user_id": 1})
        for group in (1, 2)
    ]
    rows += [
        ("project_data_sources", {"project_id": p, "meta_data_source_id": d})
        for p in (1, 2)
        for d in (1, 2)
    ]
    return rows


@pytest.mark.parametrize("seed", WORLDS if MORE else range(6))
def test_W5_no_smaller_set_exists_by_looking_at_all_rows_and_pairs(seed):
    world = tiny_world(seed)
    question = Question(world)
    for tier, keys in (
        ("data_source", [(1,)]),
        ("project", [(1,)]),
        ("results", [(1, 1)]),
        ("results", [(1, 1), (1, 2)]),
    ):
        if set(keys) <= reached(world, 1)[tier]:
            continue
        sets = question.sets(1, sides_of(tier, keys))
        size = len(sets[0].rows)
        opening: list[frozenset] = []
        for rows in (c for n in (1, 2) for c in combinations(universe(), n)):
            if any(part <= frozen(rows) for part in opening):
                continue
            if set(keys) <= reached(with_rows(world, list(rows)), 1)[tier]:
                opening.append(frozen(rows))
        assert all(len(rows) >= size for rows in opening)
        # Every set of at most two rows that could be offered is among those given.
        offered = {rows for rows in opening if all(map(is_offered, rows))}
        given = {frozen(as_rows(found)) for found in sets}
        few = {rows for rows in given if len(rows) < 3}
        assert few <= offered
        assert few == offered or len(sets) == missing.LIMIT


def frozen(rows: list[tuple[str, dict]]) -> frozenset:
    """Return rows as a set that can be looked up; what is null is left out."""
    return frozenset(
        (table, frozenset((k, v) for k, v in values.items() if v is not None))
        for table, values in rows
    )


def is_offered(row: tuple[str, frozenset]) -> bool:
    """Whether a row may be in a set: not for a group, and no more than is needed."""
    table, values = row
    names = dict(values)
    is_membership = table == "user_group_members"
    return is_membership or (
        "user_group_id" not in names and names.get("role_name") != "Viewer"
    )


def test_W4_all_gaps_are_one_set_and_a_group_that_holds_the_right_is_a_way():
    world = nobody_sees()
    world["user_group_members"], world["project_data_sources"] = [], []
    world["project_permissions"] = [
        raw("project_permissions", id=1, project_id=1, user_group_id=2)
    ]
    sets = Question(world).sets(1, sides_of("results", [(1, 1)]))
    assert as_rows(sets[0]) == [
        ("data_source_permissions",
         {"meta_data_source_id": 1, "user_id": 1, "role_name": "ViewTestResults"}),
        ("project_data_sources", {"project_id": 1, "meta_data_source_id": 1}),
        ("project_permissions", {"project_id": 1, "user_id": 1, "role_name": None}),
    ]  # fmt: skip
    groups = {
        dict(row.values)["user_group_id"]
        for found in sets
        for row in found.rows
        if row.table == "user_group_members"
    }
    # The group that holds it, and the one below that.
    assert groups == {1, 2}
    assert {len(found.rows) for found in sets} == {3}


def test_W4_two_grants_are_told_beside_the_one_group_that_would_give_both():
    world = nobody_sees()
    world["user_group_members"] = []
    world["project_permissions"] = [
        raw("project_permissions", id=1, project_id=1, user_group_id=2)
    ]
    world["data_source_permissions"] = [
        raw("data_source_permissions", id=1, meta_data_source_id=1, user_group_id=1,
            role_name="Tester")
    ]  # fmt: skip
    sets = Question(world).sets(1, sides_of("results", [(1, 1)]))
    assert [[row[0] for row in as_rows(found)] for found in sets] == [
        # Staff has the data source itself, and the project from Risk above it.
        ["user_group_members"],
        ["data_source_permissions", "project_permissions"],
        ["data_source_permissions", "user_group_members"],
    ]
    # With Staff another row would be one too many.
    assert dict(sets[2].rows[1].values)["user_group_id"] == 2


def test_W4_at_most_ten_sets_are_told_the_fewest_rows_first_and_then_the_least_gain():
    world = nobody_sees() | {"project_data_sources": []}
    for group in range(3, 16):
        world["user_groups"].append(raw("user_groups", id=group, name=f"G{group}"))
        for other in range(2, group):
            if len(world["projects"]) < other:
                world["projects"].append(raw("projects", id=other, name=f"P{other}"))
        world["project_permissions"] += [
            raw("project_permissions", id=100 * group + p, project_id=p,
                user_group_id=group)
            for p in range(1, 18 - group)
        ]  # fmt: skip
    sets = Question(world).sets(1, sides_of("project", [(1,)]))
    assert len(sets) == missing.LIMIT
    gains = [len(found.gained["project"]) for found in sets]
    # The user alone, then the groups from the one that holds the least.
    assert gains == [0, *range(1, 10)]


def test_W4_the_ten_of_many_pairs_are_those_that_give_the_least():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    world["meta_data_sources"].append(raw("meta_data_sources", id=2, name="dwh"))
    link = {"id": 2, "project_id": 1, "meta_data_source_id": 2}
    world["project_data_sources"].append(raw("project_data_sources", **link))
    world["projects"] += [raw("projects", id=i, name=f"P{i}") for i in range(2, 20)]
    for group in range(3, 11):
        world["user_groups"].append(raw("user_groups", id=group, name=f"G{group}"))
        grant = {"meta_data_source_id": 1 + group % 2, "role_name": "ViewTestResults"}
        world["data_source_permissions"].append(
            raw("data_source_permissions", id=group, user_group_id=group, **grant)
        )
        # The later a group, the less else it gives.
        world["project_permissions"] += [
            raw("project_permissions", id=100 * group + p, project_id=p,
                user_group_id=group)
            for p in range(2, 14 - group)
        ]  # fmt: skip
    question = Question(world)
    sides = sides_of("results", [(1, 1), (1, 2)])
    sets = question.sets(1, sides)
    person = PERSON | {"is_live": True}
    state = question.asked.state(sides, person)
    one, two = (("Data Source", source, "View Test Results") for source in (1, 2))
    ways = [
        [*state.permission_rows(right)]
        + [state.member_row(g) for g, held in state.groups.items() if right in held]
        for right in (one, two)
    ]
    search = missing._Search(state, sides, {one, two}, ())
    pairs = [search.made(pair) for pair in product(*ways)]
    assert len(pairs) == 25
    assert sets == sorted(pairs, key=lambda pair: pair.weight)[: missing.LIMIT]


def test_W4_nothing_opens_a_tier_of_a_row_that_names_no_object():
    keys = {"project_id": 1, "meta_data_source_id": None}
    second = {"project_id": 1, "meta_data_source_id": 1}
    for links in (nobody_sees()["project_data_sources"], []):
        question = Question(nobody_sees() | {"project_data_sources": links})
        assert question.sets(1, [("results", keys), ("results", second)]) == []


def test_W4_nothing_opens_a_tier_on_an_object_that_is_not_live():
    world = nobody_sees()
    world["meta_data_sources"][0]["is_active"] = "false"
    sides = [("data_source", {"meta_data_source_id": 1})]
    assert Question(world).sets(1, sides) == []


def test_W4_the_operation_prints_sets_with_their_side_effects_last():
    world = nobody_sees()
    world["tests"].append(raw("tests", id=2, project_id=1, name="u"))
    world["jobs"].append(raw("jobs", id=1, project_id=1, name="j"))
    question = Question(world)
    given = {"user": "ann", "dataset": "tests", "row": {"test_id": 1}}
    (answer,) = question.asked.ask(**given)
    (found,) = answer["nearest"]
    assert found["rows_gained"] == {"tests": 1, "jobs": 1}
    assert found["tiers_gained"] == {}
    assert [row["table"] for row in found["evidence"]] == ["project_permissions"]
    lines = question.asked.lines(**given)
    (row,) = found["evidence"]
    assert row["values"] == {"project_id": 1, "user_id": 1, "role_name": None}
    assert [line.strip() for line in lines if line][-4:] == [
        "Nearest missing grants",
        "1. Give ann Project Member on Core (project 1).",
        "What comes with it: 1 more row of tests, 1 more row of jobs.",
        "In charge of Core (project 1) are the global administrators.",
    ]


def test_W4_a_row_with_two_sides_asks_for_both():
    world = nobody_sees()
    world["users"].append(raw("users", id=2, login_name="bo", first_name="Bo"))
    source = raw("meta_data_sources", id=2, name="dwh", owner_user_id=2)
    world["meta_data_sources"].append(source)
    sides = {"test_data_source_id": 1, "control_data_source_id": 2}
    world["test_executions"] = [raw("test_executions", id=1, test_id=1, **sides)]
    given = {"dataset": "test_executions", "row": "test_execution_id=1"}
    (answer,) = Question(world).asked.ask(user="ann", **given)
    (found,) = answer["nearest"]
    assert sorted(row["table"] for row in found["evidence"]) == [
        *("data_source_permissions", "data_source_permissions"),
        *("project_data_sources", "project_permissions"),
    ]
    give = "ive ann View Test Results on {}, by the role ViewTestResults, "
    assert found["says"] == (
        f"1. G{give.format('crm (data source 1)')}g{give.format('dwh (data source 2)')}"
        "link Core (project 1) to dwh (data source 2) and give ann Project Member on"
        " Core (project 1)."
    )
    nobody = "the global administrators"
    assert [note["says"] for note in answer["in_charge"]] == [
        f"In charge of crm (data source 1) are {nobody}.",
        "In charge of dwh (data source 2) is Bo (bo, user 2).",
        f"In charge of Core (project 1) are {nobody}.",
    ]


def seen_rows(world: World, user: int) -> dict[str, int]:
    """Return how many rows of each secure dataset bear the user, by the contract."""
    relations = evaluate(world).relations
    return {
        name.removeprefix("vw_secure_dataset_"): sum(
            row[COLUMNS[name].index("user_id")] == user for row in rows
        )
        for name, rows in relations.items()
        if name.startswith("vw_secure_dataset_")
    }


@pytest.mark.parametrize("seed", WORLDS if MORE else [1])
def test_W5_the_rows_gained_are_exactly_those_of_each_dataset(seed):
    world = random_world(seed)
    question, looked_at = Question(world), 0
    for user, tier, keys in closed_questions(world, seed, 3):
        named = dict(zip(NAMES[tier], keys[0], strict=True))
        if keys[0] in reached(world, user)[tier]:
            continue
        answers = question.asked.ask(user=user, tier=tier, object=named)
        (answer,) = [a for a in answers if a["user"]["user_id"] == user]
        before = seen_rows(world, user)
        for found in answer["nearest"][:3]:
            rows = [(row["table"], row["values"]) for row in found["evidence"]]
            after = seen_rows(with_rows(world, rows), user)
            more = {name: after[name] - before[name] for name in after}
            assert found["rows_gained"] == {n: c for n, c in more.items() if c}
            looked_at += 1
    # In some of many worlds nobody is left to ask about.
    assert looked_at or MORE


# ---------------------------------------------------------------------------
# What a membership gives beside rights, by the policies of the sample
# ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sample() -> Asked:
    """The question over the sample, as the bank's config asks it."""
    return sample_asked(SAMPLE)


def test_W4_a_membership_says_which_roles_it_gives_that_policies_name(sample):
    (answer,) = sample.ask(user="hpark", tier="project", object="project_id=2")
    given = {
        (row["values"].get("user_group_id"), told["says"])
        for found in answer["nearest"]
        for row in found["evidence"]
        for told in row["evidence"]
    }
    says = "the role Operations, which policies of star_test_executions name"
    says += " (masks: error_count; conditions)"
    # The second is below the first.
    assert given == {(5, says), (6, says)}


def test_W4_the_roles_of_a_membership_are_those_that_the_user_gets_by_it(sample):
    named = {"Data Office", "Operations"}
    asked = 0
    for user, project in ((8, 2), (25, 2), (12, 1), (17, 1), (25, 5)):
        (answer,) = sample.ask(
            user=user, tier="project", object={"project_id": project}
        )
        before = roles_of(sample.world, user)
        for found in answer.get("nearest", ()):
            for row in found["evidence"]:
                world = with_rows(sample.world, [(row["table"], row["values"])])
                gained = (roles_of(world, user) - before) & named
                told = {told.get("role") for told in row["evidence"]} - {None}
                assert told == gained
                asked += bool(gained)
    assert asked


def test_W4_a_membership_says_which_keys_of_row_security_it_brings(sample):
    given = {"tier": "results", "object": "project_id=1, meta_data_source_id=6"}
    (answer,) = sample.ask(user="hpark", **given)
    members = {
        row["values"]["user_group_id"]: row["evidence"]
        for row in rows_of(answer)
        if row["table"] == "user_group_members"
    }
    mapping = sample.database.rows("select * from map_user_group_business_units")
    held = keys_of(sample.world, mapping)
    brought = set()
    for group, evidence in members.items():
        told = {key for note in evidence for key in note.get("keys", ())}
        row = {"user_group_id": group, "user_id": 8}
        after = with_rows(sample.world, [("user_group_members", row)])
        assert told == keys_of(after, mapping) - held
        brought |= told
    assert brought == {"Finance"}
    # What the user holds already is not brought: groups 5 and 6 have it, too.
    (answer,) = sample.ask(user="hpark", tier="project", object="project_id=2")
    assert "Operations" in str(answer["nearest"])
    assert "Payments" not in str([row["evidence"] for row in rows_of(answer)])
    (note,) = members[9]
    assert note["says"] == (
        'the key Finance of row security "Business units of groups", which'
        f" restricts {', '.join(note['datasets'])}"
    )
    assert {"star_test_executions", "executions_by_unit"} <= set(note["datasets"])


def rows_of(answer: dict) -> list[dict]:
    """Return the rows of all sets of an answer."""
    return [row for found in answer["nearest"] for row in found["evidence"]]


def keys_of(world: World, mapping: list[dict]) -> set[str]:
    """Return the keys of user 8, by the contract and the mapping of groups."""
    groups = {group for who, group, _ in roles_of_users(stage(world)) if who == 8}
    return {row["business_unit"] for row in mapping if row["user_group_id"] in groups}


OVER = {
    "base": "vw_secure_dataset_tests",
    "columns": ["test_id", "test_name"],
    "unique_key": ["test_id"],
}


def asked_over(world: World, policies: list[dict]) -> Asked:
    """Return the question where datasets are over `tests`, one over the other."""
    document = yaml.safe_load(document_of(PRODUCTS))
    document["datasets"] |= {
        "over_tests": OVER,
        "over_both": OVER | {"base": "vw_secure_dataset_over_tests"},
    }
    document["policies"] = policies
    database = Database()
    load_world(database, world)
    columns = ("user_id", "user_group_id", "role_name")
    database.table("vw_secure_user_roles", columns, [(1, 1, "Staff")])
    kinds = {
        column: "bigint" if column.endswith("_id") else "string"
        for column in document["datasets"]["tests"]["columns"]
    }
    over = [f"vw_secure_dataset_{name}" for name in ("tests", "over_tests")]
    types = dict.fromkeys(["vw_dataset_tests", *over], kinds)
    asked = Asked(yaml.safe_dump(document, sort_keys=False), database, types=types)
    return asked.over(world)


@pytest.mark.parametrize(
    ("ruled", "seen", "past_tier"),
    [
        (None, {"tests": 1, "over_tests": 2, "over_both": 2}, {}),
        # What is above it has its rules, too.
        ("over_tests", {"tests": 1}, {"over_tests": 2, "over_both": 2}),
        ("over_both", {"tests": 1, "over_tests": 2}, {"over_both": 2}),
        ("tests", {}, {"tests": 1, "over_tests": 2, "over_both": 2}),
    ],
)
def test_W4_rows_of_datasets_over_another_one_come_with_it(ruled, seen, past_tier):
    world = nobody_sees()
    world["tests"].append(raw("tests", id=2, project_id=1, name="u"))
    policies = [{"role": "Auditors", "resource": ruled}] if ruled else []
    asked = asked_over(world, policies)
    (answer,) = asked.ask(user="ann", dataset="tests", row="test_id=1")
    (found,) = answer["nearest"]
    assert (found["rows_gained"], found["rows_past_tier"]) == (seen, past_tier)


@pytest.mark.parametrize(
    ("policies", "wanted"),
    [
        ([], "what opens the row of 'tests' opens this: ask why of 'tests'"),
        ([{"except": ["Auditors"], "resource": "over_tests.test_name", "mask": "'x'"}],
         "what opens the row of 'tests' opens this: ask why of 'tests'"),
        ([{"role": "Auditors", "resource": "over_tests"}],
         "the row of 'tests' has to be open first, and then its own rules decide, those"
         " of 'over_tests': ask why of 'tests'"),
    ],
)  # fmt: skip
def test_W1_what_opens_the_dataset_below_opens_what_has_no_rules_of_its_own(
    policies, wanted
):
    given = {"user": "ann", "dataset": "over_tests", "row": "test_id=1"}
    world = nobody_sees()
    asked = asked_over(world, policies)
    (answer,) = asked.ask(**given)
    assert answer["what_helps"] == wanted
    # What the dataset below reads is asked whether it is of the same state.
    assert "explained_access_paths" in asked.asked_since
    world["project_permissions"] = [to_user()]
    asked = asked_over(world, policies)
    tests = yaml.safe_load(document_of(PRODUCTS))["datasets"]["tests"]["columns"]
    row = dict.fromkeys(("access_type", *tests))
    row |= {"user_id": 1, "test_id": 1, "test_name": "t"}
    asked.database.table("vw_secure_dataset_tests", tuple(row), [tuple(row.values())])
    (answer,) = asked.ask(**given)
    assert answer["seen"] is wanted.startswith("what opens")


@pytest.mark.parametrize(
    ("held", "told"), [(set(), ["Operations"]), ({"Operations"}, [])]
)
def test_W4_a_role_that_the_user_holds_already_is_not_given(held, told):
    row = missing.NewRow("user_group_members", (), roles=frozenset({"Operations"}))
    policies = {"Operations": {"star": ["conditions"]}}
    row = replace(row, called="Night Shift (group 4)")
    state = SimpleNamespace(held_roles=held, policies=policies, person=PERSON)
    notes = missing.row_note(row, state, [])["evidence"]
    assert [item["role"] for item in notes] == told


def roles_of(world: World, user: int) -> set[str]:
    """Return the roles of a user, by the contract."""
    return {role for who, _, role in roles_of_users(stage(world)) if who == user}


def test_W4_rows_that_pass_a_tier_are_told_apart_from_rows_that_are_seen(sample):
    given = {"tier": "results", "object": "project_id=1, meta_data_source_id=6"}
    (answer,) = sample.ask(user="hpark", **given)
    first, second, *_ = answer["nearest"]
    assert first["rows_gained"] == {"test_executions": 5}
    assert first["rows_past_tier"] == {"star_test_executions": 5}
    assert first["comes_with"] == (
        "What comes with it: 5 more rows of test_executions; 5 more rows pass the tier"
        " of star_test_executions; its policies decide which are seen."
    )
    pairs = "2 more pairs of project and data source of the tier results"
    assert pairs in second["comes_with"]
    assert "1 more object of the tier project, " in second["comes_with"]
    passing = "1 more row passes the tier of authorized_projects; their policies"
    assert passing in second["comes_with"]


def test_W4_rows_of_what_no_run_has_built_are_not_counted():
    """A past state may be one of access alone: what opens the tier is told of it."""
    asked = sample_asked("")
    given = {
        "user": "hpark",
        "tier": "results",
        "object": "project_id=1, meta_data_source_id=6",
    }
    (counted,) = asked.ask(**given)
    assert counted["uncounted"] == []
    asked.unbuilt = {"vw_dataset_test_executions", "vw_dataset_event_history"}
    (answer,) = asked.ask(**given)
    assert set(answer["uncounted"]) == asked.unbuilt
    assert len(answer["nearest"]) == len(counted["nearest"])
    unbuilt = {"test_executions", "event_history"}
    for found, whole in zip(answer["nearest"], counted["nearest"], strict=True):
        rows = whole["rows_gained"].items()
        assert found["rows_gained"] == {n: c for n, c in rows if n not in unbuilt}
        assert found["evidence"] == whole["evidence"]
    lines = [line.strip() for line in asked.lines(**given)]
    told = lines[lines.index("Nearest missing grants") + 1]
    assert told.startswith("Rows are not counted of what no run has built: vw_dataset_")


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([("r", "a", None)], {"r": {"a": ["conditions"]}}),
        ([("r", "a", "x"), ("r", "a", None), ("r", "a", "y"), ("s", "b", "x")],
         {"r": {"a": ["masks: x, y", "conditions"]}, "s": {"b": ["masks: x"]}}),
    ],
)  # fmt: skip
def test_W4_policies_are_told_by_role_and_dataset(rows, wanted):
    names = ("role", "dataset", "column")
    policies = [dict(zip(names, row, strict=True)) for row in rows]
    assert missing.policies_by_role(policies) == wanted


# ---------------------------------------------------------------------------
# Which gates behind the tier a set leaves closed
# ---------------------------------------------------------------------------

STAR = "star_test_executions"
BEHIND = GATES[GATES.index("tier") + 1 :]


def of_execution(asked: Asked, user: int, execution: int) -> dict:
    """Return the answer about a user and an execution of the bank's star."""
    found = asked.ask(user=user, dataset=STAR, row={"test_execution_id": execution})
    (answer,) = [a for a in found if a["user"]["user_id"] == user]
    return answer


def closed_behind(gates: list[dict]) -> dict[str, str]:
    """Return what the gates behind the tier say that are closed."""
    return {
        gate["gate"]: gate["says"]
        for gate in gates
        if gate["gate"] in BEHIND and gate["state"] == "closed"
    }


def as_loaded(answer: dict, number: int) -> list[tuple[str, dict]]:
    """Return the rows of a set of an answer."""
    rows = answer["nearest"][number]["evidence"]
    return [(row["table"], row["values"]) for row in rows]


@pytest.mark.parametrize(
    ("execution", "opened_by"),
    [
        # Finance Control and those below it have the key; Data Office the condition.
        (170, {"row security": {9, 11}, "conditions": set()}),
        (164, {"row security": set(), "conditions": {2, 3, 4}}),
    ],
)
def test_W4_a_set_says_which_gates_it_leaves_closed(sample, execution, opened_by):
    answer = of_execution(sample, 25, execution)
    now = {each["gate"] for each in answer["closed_beside"]}
    assert set(opened_by) == now
    seen = set()
    for found in answer["nearest"]:
        groups = {row["values"].get("user_group_id") for row in found["evidence"]}
        seen |= groups
        left = {each["gate"] for each in found["closed_beside"]}
        assert left == {gate for gate in now if not groups & opened_by[gate]}
    assert any(seen & groups for groups in opened_by.values())
    lines = [line.strip() for line in sample.lines(
        user=25, dataset=STAR, row={"test_execution_id": execution}
    )]  # fmt: skip
    told = lines[lines.index("Nearest missing grants") + 1 :]
    assert "They open the tier alone" not in str(told)
    for gate in now:
        numbers = [
            number
            for number, found in enumerate(answer["nearest"], 1)
            if gate in {each["gate"] for each in found["closed_beside"]}
        ]
        (line,) = [x for x in told if f" {gate} closed: " in x]
        assert line.startswith(text.sets_named(numbers, len(answer["nearest"])))


def test_W4_a_role_whose_condition_is_not_true_of_the_row_opens_no_conditions():
    config, execution = together(), 164
    (office,) = [
        policy
        for policy in config["policies"]
        if (policy.get("role"), policy["resource"]) == ("Data Office", STAR)
    ]
    office["condition"] = f"test_execution_id <> {execution}"
    answer = of_execution(sample_asked(SAMPLE, config=config), 25, execution)
    groups = {
        row["values"].get("user_group_id")
        for found in answer["nearest"]
        for row in found["evidence"]
    }
    assert groups & {2, 3, 4}, "a set makes the user a member of who holds the role"
    for found in answer["nearest"]:
        assert "conditions" in {each["gate"] for each in found["closed_beside"]}


def star_policies(world: World, seed: int) -> dict:
    """Return the bank's config with other conditions, of groups of a world."""
    chance, config = random.Random(seed), together()
    live = stage(world).live("user_groups").values()
    names = sorted({g["name"] for g in live if (g["name"] or "").startswith("name ")})
    conditions = ({}, {"condition": "project_id > 2"})
    roles = chance.sample(names, min(len(names), len(conditions)))
    own = [
        {"role": role, "resource": STAR} | condition
        for role, condition in zip(roles, conditions, strict=False)
    ]
    others = [p for p in config["policies"] if p["resource"] != STAR]
    return config | {"policies": others + own}


@pytest.mark.parametrize("seed", WORLDS if MORE else [5])
def test_W4_the_gates_that_a_set_leaves_closed_are_those_that_are_once_it_is_loaded(
    seed,
):
    world, chance = random_world(seed), random.Random(seed)
    config = star_policies(world, seed)
    before = sample_asked(SAMPLE, world, config)
    executions = [
        row["test_execution_id"]
        for row in before.database.rows(
            "select test_execution_id from fct_test_executions order by 1"
        )
    ]
    users = sorted(stage(world).live("users"))
    # One set for what it opens and what it leaves closed.
    wanted: dict[tuple, tuple] = {}
    pairs = [(user, key) for user in users for key in executions]
    for user, key in chance.sample(pairs, min(60, len(pairs))):
        answer = of_execution(before, user, key)
        now = closed_behind(answer["gates"])
        for number, found in enumerate(answer.get("nearest", ())):
            told = {each["gate"]: each["says"] for each in found["closed_beside"]}
            kind = (frozenset(now), frozenset(told))
            wanted.setdefault(kind, (user, key, as_loaded(answer, number), told))
        if sum(now != told for now, told in wanted) > 1:
            break
    for user, key, rows, told in wanted.values():
        after = sample_asked(SAMPLE, with_rows(world, rows), config)
        answer = of_execution(after, user, key)
        assert answer["gates"][GATES.index("tier")]["state"] == "open"
        assert closed_behind(answer["gates"]) == told, (user, key, rows)
    # Some sets open a gate, and others leave it closed.
    assert {now == told for now, told in wanted} == {True, False} or MORE
