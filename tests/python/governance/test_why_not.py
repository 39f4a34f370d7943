"""Why not: what is there and does not count, with its reason: W3."""

from __future__ import annotations

from copy import deepcopy

import pytest
from oracle.contract import RawRow, World
from tier_questions import nobody_sees, raw, to_user
from why_sandbox import Asked, Database, load_world, products

from access_questions.near_misses import Groups, judged


def to_risk(**values: object) -> RawRow:
    row = {"id": 5, "project_id": 1, "user_group_id": 2}
    return raw("project_permissions", **row | values)


LATER = {"date_modified": "2026-02-01 00:00:00"}
ROW_5 = "row 5 of project_permissions, {}, for {}, does not count: {}"


def asked_of(world: World) -> Asked:
    """Return the question over a world."""
    database = Database()
    return products(database).over(world, load_world(database, world))


def said(notes: list[dict]) -> list[str]:
    """Return all that evidence says."""
    return [s for note in notes for s in (note["says"], *said(note["evidence"]))]


def said_of_test(world: World) -> list[str]:
    """Return what is said of test 1 and the user, who does not see it."""
    (answer,) = asked_of(world).ask(user="ann", dataset="tests", row={"test_id": 1})
    assert answer["seen"] is False
    return [s for s in said(answer["gates"]) if "does not count: " in s]


CASES = {
    "rejected": (
        {"project_permissions": [to_user(role_name="Adnim")]},
        ROW_5.format("role Adnim", "the user", "rejected: role"),
    ),
    "rejected for another value": (
        {"project_permissions": [to_user(is_active="yes")]},
        ROW_5.format("no role", "the user", "rejected: unreadable is_active"),
    ),
    "its id can't be read": (
        {"project_permissions": [to_user(id="x5")]},
        "row 'x5' of project_permissions, no role, for the user, does not count:"
        " rejected: unreadable id",
    ),
    "rejected for a conflict": (
        {"project_permissions": [to_user(), to_user(created_by="b")]},
        ROW_5.format("no role", "the user", "rejected: conflict"),
    ),
    "superseded": (
        {"project_permissions": [to_user(), to_user(user_id=7, **LATER)]},
        ROW_5.format(
            "no role",
            "the user",
            "superseded by a newer delivery, which says user_id 7",
        ),
    ),
    "not active": (
        {"project_permissions": [to_user(), to_user(is_active="false", **LATER)]},
        ROW_5.format("no role", "the user", "not active"),
    ),
    "held by a group that is not active": (
        {
            "project_permissions": [to_risk()],
            "user_groups": [
                raw("user_groups", id=1, name="Staff", parent_user_group_id=2),
                raw("user_groups", id=2, name="Risk", is_active="false"),
            ],
        },
        ROW_5.format("no role", "group Risk (2)", "group Risk (2) is not active"),
    ),
    "through a membership that is not active": (
        {
            "project_permissions": [to_risk()],
            "user_group_members": [
                raw(
                    "user_group_members",
                    id=1,
                    user_group_id=1,
                    user_id=1,
                    is_active="0",
                )
            ],
        },
        ROW_5.format(
            "no role", "group Risk (2)", "row 1 of user_group_members is not active"
        ),
    ),
    "through a group that is not there": (
        {
            "project_permissions": [to_user(user_id=None, user_group_id=9)],
            "user_groups": [
                raw("user_groups", id=1, name="Staff", parent_user_group_id=9)
            ],
        },
        ROW_5.format("no role", "group (no name) (9)", "group 9 is not there"),
    ),
    "through a parent that an older delivery named": (
        {
            "project_permissions": [to_risk()],
            "user_groups": [
                raw("user_groups", id=1, name="Staff", parent_user_group_id=2),
                raw("user_groups", id=1, name="Staff", **LATER),
                raw("user_groups", id=2, name="Risk"),
            ],
        },
        ROW_5.format(
            "no role",
            "group Risk (2)",
            "the parent link of Staff (1) to Risk (2) is superseded by a newer"
            " delivery, which says parent_user_group_id null",
        ),
    ),
    "the project is not active": (
        {
            "project_permissions": [to_user()],
            "projects": [raw("projects", id=1, name="Core", is_active="false")],
        },
        ROW_5.format("no role", "the user", "row 1 of projects is not active"),
    ),
    "the project is rejected": (
        {
            "project_permissions": [to_user()],
            "projects": [raw("projects", id=1, name="Core", is_active="no")],
        },
        ROW_5.format(
            "no role",
            "the user",
            "row 1 of projects is rejected: unreadable is_active",
        ),
    ),
    "through a ring": (
        {
            "project_permissions": [to_risk()],
            "user_groups": [
                raw("user_groups", id=1, name="Staff", parent_user_group_id=2),
                raw("user_groups", id=2, name="Risk", parent_user_group_id=1),
            ],
        },
        ROW_5.format(
            "no role",
            "group Risk (2)",
            "the parent link of Staff (1) is ignored in a ring",
        ),
    ),
}


@pytest.mark.parametrize(("edits", "wanted"), CASES.values(), ids=CASES)
def test_W3_a_closed_tier_gate_lists_what_does_not_count(edits, wanted):
    world = nobody_sees() | edits
    # By the project and not by its test, which is hidden with it.
    (answer,) = asked_of(world).ask(user="ann", tier="project", object="project_id=1")
    assert answer["seen"] is False
    notes = answer["gates"][2]["evidence"]
    assert [s for s in said(notes) if "does not count: " in s] == [wanted]


def test_W3_nothing_is_listed_where_nothing_would_have_opened_the_gate():
    world = nobody_sees()
    world["project_permissions"] = [to_user(project_id=2), to_user(id=6, user_id=2)]
    world["project_permissions"] += [to_user(id=7, user_id=None, user_group_id=8)]
    # It names two holders, and the user is none of them.
    world["project_permissions"] += [to_user(id=8, user_id=2, user_group_id=8)]
    # It named the user, but was not in force then either.
    former = to_user(id=9, is_active="false")
    world["project_permissions"] += [former, to_user(id=9, user_id=2, **LATER)]
    assert said_of_test(world) == []


def test_W3_a_global_role_and_a_data_source_permission_that_do_not_count():
    world = nobody_sees()
    world["user_global_roles"] = [
        raw("user_global_roles", id=3, user_id=1, role_name="Global.Admn"),
        raw("user_global_roles", id=4, user_id=1, role_name="Global.SecurityAdmin"),
        # However they are written, these roles would not have done.
        raw(
            "user_global_roles",
            id=5,
            user_id=1,
            role_name="global.SECURITYADMIN",
            is_active="0",
        ),
    ]
    row = {"meta_data_source_id": 1, "user_id": 1}
    world["data_source_permissions"] = [
        raw("data_source_permissions", id=1, role_name="viewer", is_active="0", **row),
        raw("data_source_permissions", id=2, role_name="CreateTests", **row),
        raw("data_source_permissions", id=3, role_name="CREATEtests", is_active="0",
            **row),
    ]  # fmt: skip
    found = asked_of(world).ask(
        user=1, tier="data_source", object={"meta_data_source_id": 1}
    )
    assert [s for s in said(found[0]["gates"]) if "does not count: " in s] == [
        "row 1 of data_source_permissions, role viewer, for the user, does not count:"
        " not active",
        "row 3 of user_global_roles, role Global.Admn, for the user, does not count:"
        " rejected: role",
    ]


def test_W3_a_link_that_does_not_count():
    world = nobody_sees()
    world["project_data_sources"][0]["is_active"] = "false"
    found = asked_of(world).ask(
        user=1, tier="results", object="project_id=1, meta_data_source_id=1"
    )
    assert "row 1 of project_data_sources does not count: not active" in said(
        found[0]["gates"]
    )


def test_W3_what_came_after_staging_was_built_is_called_so():
    columns = {"user_id": 1, "user_group_id": None}
    before = {"id": 5, "raw_id": "5", "is_active": True, "rejection_reason": None}
    before |= {"staged_is_live": True, "is_later": False, **columns}
    before |= {f"staged_{name}": value for name, value in columns.items()}
    unknown = {f"staged_{name}": None for name in columns} | {"staged_is_live": False}
    new = before | {"id": 6, "is_later": True} | unknown
    moved = before | {"user_id": 2, "is_later": True}
    gone = before | {"id": 7, "is_active": False, "is_later": True} | unknown
    found = judged("user_group_members", [before, new, moved, gone], list(columns))
    later = ["delivered since staging last ran"]
    assert [(row.raw_id, row.flaws) for row in found] == [
        (5, later),
        (5, []),
        (6, later),
    ]


def test_W3_every_delivery_that_would_have_counted_is_looked_at():
    rejected = {"id": 5, "raw_id": "5", "is_active": True, "is_later": False}
    rejected |= {"rejection_reason": "unreadable user_group_id", "user_group_id": None}
    old = rejected | {"user_group_id": 5}
    found = judged("user_group_members", [rejected, old], ["user_group_id"])
    assert [row.delivery["user_group_id"] for row in found] == [None, 5]


def test_W3_a_user_who_is_not_live():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    world["users"][0]["is_active"] = "false"
    (answer,) = asked_of(world).ask(user=1, dataset="tests", row={"test_id": 1})
    assert answer["closed_gate"] == "user"
    wanted = "row 1 of users does not count: not active"
    assert wanted in said(answer["gates"][1]["evidence"])
    held = ROW_5.format("no role", "the user", "row 1 of users is not active")
    assert held in said(answer["gates"][2]["evidence"])
    world["users"][0]["is_active"] = "si"
    (answer,) = asked_of(world).ask(user=1, dataset="tests", row={"test_id": 1})
    rejected = "row 1 of users is rejected: unreadable is_active"
    held = ROW_5.format("no role", "the user", rejected)
    assert held in said(answer["gates"][2]["evidence"])


def test_W3_a_grant_on_a_data_source_that_is_not_there():
    world = nobody_sees()
    run = {"id": 1, "test_id": 1, "test_data_source_id": 9}
    world["test_executions"] = [raw("test_executions", **run)]
    grant = {"meta_data_source_id": 9, "user_id": 1, "role_name": "Tester"}
    world["data_source_permissions"] = [raw("data_source_permissions", id=1, **grant)]
    given = {"dataset": "test_executions", "row": "test_execution_id=1"}
    (answer,) = asked_of(world).ask(user=1, **given)
    wanted = (
        "row 1 of data_source_permissions, role Tester, for the user, does not count:"
        " row 9 of meta_data_sources is not there"
    )
    assert wanted in said(answer["gates"][2]["evidence"])


OWNER = {"id": 1, "name": "crm", "owner_user_id": 1}
OWNED = "row 1 of meta_data_sources, owner, for the user, does not count: {}"


@pytest.mark.parametrize(
    ("deliveries", "reason"),
    [
        ([raw("meta_data_sources", **OWNER),
          raw("meta_data_sources", **OWNER | {"owner_user_id": 2} | LATER)],
         "superseded by a newer delivery, which says owner_user_id 2"),
        ([raw("meta_data_sources", **OWNER, is_active="0")], "not active"),
        ([raw("meta_data_sources", **OWNER, is_active="si")],
         "rejected: unreadable is_active"),
    ],
)  # fmt: skip
def test_W3_an_ownership_that_does_not_count(deliveries, reason):
    world = nobody_sees() | {"meta_data_sources": deliveries}
    given = {"tier": "data_source", "object": {"meta_data_source_id": 1}}
    (answer,) = asked_of(world).ask(user=1, **given)
    assert OWNED.format(reason) in said(answer["gates"][2]["evidence"])


def test_W3_of_several_ways_through_groups_that_with_the_fewest_flaws_is_told():
    def group(key: int, parent: int | None = None) -> dict:
        row = {"user_group_id": key, "name": f"G{key}", "parent_user_group_id": parent}
        return row | {"is_live": True, "rejection_reason": None}

    def former(key: int, parent: int, newest: int | None = None) -> dict:
        row = {"id": key, "raw_id": str(key), "is_active": True, "is_later": False}
        row |= {"parent_user_group_id": parent, "staged_parent_user_group_id": newest}
        return row | {"rejection_reason": None, "staged_is_live": True}

    groups = [group(1, 2), group(2), group(3), group(4)]
    in_force = [{"user_group_id": 1, "ancestor_user_group_id": 2}]
    parents = [former(1, 3, newest=2), former(3, 4), former(2, 4)]
    says = "the parent link of {} to {} is superseded by a newer delivery, which says"
    says += " parent_user_group_id {}"
    assert Groups(groups, in_force, parents).above(1) == {
        1: [],
        2: [],
        3: [says.format("G1 (1)", "G3 (3)", 2)],
        # Not by the third, which would be two flaws.
        4: [says.format("G2 (2)", "G4 (4)", "null")],
    }


HIDDEN = "row 1 of tests is hidden with its parent: its project_id is row 1 of projects"


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        ({"tests": {"is_active": "false"}},
         "it is row 1 of tests, which is not active"),
        ({"tests": {"project_id": "one"}},
         "it is row 1 of tests, which is rejected: unreadable project_id"),
        ({"projects": {"is_active": "false"}},
         f"{HIDDEN}, which is not active"),
        ({"projects": {"id": "2"}},
         f"{HIDDEN}, which is not there"),
    ],
)  # fmt: skip
def test_W3_a_row_that_is_hidden_with_its_parent_or_is_itself_rejected(edit, wanted):
    world = nobody_sees() | {"project_permissions": [to_user()]}
    for table, values in deepcopy(edit).items():
        world[table][0] |= values
    (answer,) = asked_of(world).ask(user=1, dataset="tests", row={"test_id": 1})
    assert answer["why"] == f"row: {wanted}"
