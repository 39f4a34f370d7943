"""Why not: what is there and does not count, with its reason: W3."""

from __future__ import annotations

import json
import os
import random
import re
from copy import deepcopy

import pytest
from oracle.contract import (
    ROLE_PERMISSIONS,
    ROLE_TABLES,
    TABLES,
    RawRow,
    World,
    newest,
    read_delivery,
    read_value,
    stage,
)
from own_config import PRODUCTS, document_of
from random_worlds import random_world
from rendering import Macros
from tier_questions import NAMES, nobody_sees, raw, reached, to_user
from why_sandbox import Asked, Database, load_world, products

from secure_datasets.questions.near_misses import Groups, judged
from secure_datasets.questions.rejections import (
    delivered,
    flaw_of,
    flaw_of_staged,
)
from secure_datasets.render.staging.deliveries import Raw
from secure_datasets.render.staging.staged import rejection_reason

MORE = "WHY_WORLDS" in os.environ
WORLDS = range(int(os.environ["WHY_WORLDS"])) if MORE else [1, 5]


def to_risk(**values: object) -> RawRow:
    row = {"id": 5, "project_id": 1, "user_group_id": 2}
    return raw("project_permissions", **row | values)


LATER = {"date_modified": "2026-02-01 00:00:00"}
CREATED = "created 2026-01-01 00:00:00, by whom is not recorded"
ROW_5 = "row 5 of project_permissions, {}, for {}, " + CREATED + ", does not count: {}"
OFF = "switched off, last changed {} 00:00:00, by whom is not recorded"


def asked_of(world: World, staged: World | None = None) -> Asked:
    """Return the question over a world, of which all or some deliveries are staged."""
    database = Database()
    load_world(database, world if staged is None else staged)
    return products(database).over(world)


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
        ROW_5.format(
            "role Adnim",
            "the user",
            "rejected: its role 'Adnim' is none that the seed role_permissions knows"
            " for projects",
        ),
    ),
    "rejected for another value": (
        {"project_permissions": [to_user(is_active="yes")]},
        ROW_5.format(
            "no role", "the user", "rejected: its is_active 'yes' can't be read"
        ),
    ),
    "its id can't be read": (
        {"project_permissions": [to_user(id="x5")]},
        f"row 'x5' of project_permissions, no role, for the user, {CREATED}, does not"
        " count: rejected: its id 'x5' can't be read",
    ),
    "rejected for a conflict": (
        {"project_permissions": [to_user(), to_user(modified_by="b")]},
        ROW_5.format(
            "no role",
            "the user",
            "rejected: two or more equally new deliveries say different things",
        ),
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
        ROW_5.format("no role", "the user", OFF.format("2026-02-01")),
    ),
    "held by a group that is not active": (
        {
            "project_permissions": [to_risk()],
            "user_groups": [
                raw("user_groups", id=1, name="Staff", parent_user_group_id=2),
                raw("user_groups", id=2, name="Risk", is_active="false"),
            ],
        },
        ROW_5.format(
            "no role",
            "group Risk (2)",
            f"group Risk (2) is {OFF.format('2026-01-01')}",
        ),
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
            "no role",
            "group Risk (2)",
            f"row 1 of user_group_members, {CREATED}, is {OFF.format('2026-01-01')}",
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
        ROW_5.format(
            "no role", "the user", f"row 1 of projects is {OFF.format('2026-01-01')}"
        ),
    ),
    "the project is rejected": (
        {
            "project_permissions": [to_user()],
            "projects": [raw("projects", id=1, name="Core", is_active="no")],
        },
        ROW_5.format(
            "no role",
            "the user",
            "row 1 of projects is rejected: its is_active 'no' can't be read",
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
        f"row 1 of data_source_permissions, role viewer, for the user, {CREATED}, does"
        f" not count: {OFF.format('2026-01-01')}",
        f"row 3 of user_global_roles, role Global.Admn, for the user, {CREATED}, does"
        " not count: rejected: its role 'Global.Admn' is no global role of the seed"
        " role_permissions",
    ]


def test_W3_a_link_that_does_not_count():
    world = nobody_sees()
    world["project_data_sources"][0]["is_active"] = "false"
    found = asked_of(world).ask(
        user=1, tier="results", object="project_id=1, meta_data_source_id=1"
    )
    off = OFF.format("2026-01-01")
    wanted = f"row 1 of project_data_sources, {CREATED}, does not count: {off}"
    assert wanted in said(found[0]["gates"])


def test_W3_of_several_ways_through_groups_that_with_the_fewest_flaws_is_told():
    def group(key: int, parent: int | None = None) -> dict:
        row = {"user_group_id": key, "name": f"G{key}", "parent_user_group_id": parent}
        return row | {"is_live": True, "rejection_reason": None}

    def former(key: int, parent: int, newest: int | None = None) -> dict:
        says = f"says parent_user_group_id {newest or 'null'}"
        row = {"row_id": key, "parent_user_group_id": parent}
        return row | {"reason": "superseded", "detail": says}

    groups = [group(1, 2), group(2), group(3), group(4)]
    in_force = [{"user_group_id": 1, "ancestor_user_group_id": 2}]
    parents = [former(1, 3, newest=2), former(3, 4), former(2, 4)]
    says = "the parent link of {} to {} is superseded by a newer delivery, which says"
    says += " parent_user_group_id {}"
    above = Groups(groups, in_force, parents).above(1)
    told = {group: [flaw.says for flaw in flaws] for group, flaws in above.items()}
    assert told == {
        1: [],
        2: [],
        3: [says.format("G1 (1)", "G3 (3)", 2)],
        # Not by the third, which would be two flaws.
        4: [says.format("G2 (2)", "G4 (4)", "null")],
    }


# ---------------------------------------------------------------------------
# What came after staging was built
# ---------------------------------------------------------------------------

SINCE = "delivered since staging last ran"
TABLES_OF_RIGHTS = [
    table for table in TABLES if table.endswith(("_permissions", "_members", "_roles"))
]


def dated(modified: str | None, loaded: str | None, **values: object) -> RawRow:
    """Return a permission of the user by which it is compared with others."""
    return to_user(date_modified=modified, sf_date_created=loaded, **values)


IDS = range(1, 12)
EARLY, LATE, LATEST = (f"2026-06-{day} 00:00:00" for day in ("01", "10", "20"))
OUT = {"is_active": "false"}


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        # All of it was staged: what is loaded last has lost all the same.
        ([dated(None, EARLY, **OUT), dated(LATE, LATE)], "switched off"),
        ([dated(EARLY, EARLY, **OUT), dated(None, LATE)], "switched off"),
        ([dated("15/06/2026", EARLY, **OUT), dated(LATEST, LATEST)], "rejected: "),
        ([dated(LATE, "15/06/2026", **OUT), dated(LATE, LATEST)], "rejected: "),
        ([dated(LATE, EARLY, role_name="x", **OUT), dated(EARLY, LATE)], "rejected: "),
        ([dated(LATE, EARLY, role_name="x"), dated(EARLY, LATE)], "rejected: "),
        ([dated(LATE, LATE, **OUT), dated(LATE, LATE)], "switched off"),
    ],
)
def test_W3_what_staging_had_and_did_not_take_is_not_called_delivered_since(rows, told):
    world = nobody_sees() | {"project_permissions": rows}
    given = {"user": "ann", "tier": "project", "object": "project_id=1"}
    (answer,) = asked_of(world).ask(**given)
    assert SINCE not in str(answer)
    items = [s for s in said(answer["gates"]) if "does not count: " in s]
    assert items and all(told in item for item in items)
    # The last of them came after staging.
    staged = world | {"project_permissions": rows[:1]}
    (answer,) = asked_of(world, staged).ask(**given)
    assert SINCE not in str(answer)


@pytest.mark.parametrize(
    ("before", "later"),
    [
        ([], dated(EARLY, EARLY)),
        ([dated(EARLY, EARLY, **OUT)], dated(LATE, LATE)),
        ([dated(EARLY, EARLY, **OUT)], dated(EARLY, LATE)),
        ([dated(EARLY, EARLY, role_name="x")], dated(LATE, LATE)),
        ([dated(None, None)], dated(EARLY, EARLY)),
        ([dated(EARLY, EARLY, user_id=2)], dated("15/06/2026", LATE)),
        ([dated("15/06/2026", EARLY)], dated("16/06/2026", LATE)),
    ],
)
def test_W3_what_staging_would_have_taken_is_delivered_since(before, later):
    world = nobody_sees() | {"project_permissions": [*before, later]}
    staged = world | {"project_permissions": before}
    if before == [dated(None, None)]:
        # It counts, but for the project.
        world["projects"][0]["is_active"] = "false"
    given = {"user": "ann", "tier": "project", "object": "project_id=1"}
    (answer,) = asked_of(world, staged).ask(**given)
    assert any(SINCE in one for one in said(answer["gates"]))


SUPERSEDED = f"{SINCE}, and superseded by a newer delivery, which "


@pytest.mark.parametrize(
    ("later", "told", "is_mend"),
    [
        ([], [], True),
        # The source has it right already.
        ([dated(LATE, LATE)], [SINCE], False),
        # The next run gives nothing.
        ([dated(LATE, LATE), dated(LATEST, LATEST, **OUT)],
         [f"{SUPERSEDED}is switched off"], True),
        ([dated(LATE, LATE), dated(LATEST, LATEST, project_id=9)],
         [f"{SUPERSEDED}says project_id 9"], False),
        ([dated(LATE, LATE), dated(LATEST, LATEST, user_id=2, **OUT)],
         [f"{SUPERSEDED}says user_id 2 and is switched off"], False),
        # Of what is delivered twice, the newest is told.
        ([dated(LATE, LATE), dated(LATEST, LATEST)], [SINCE], False),
        ([dated(LATE, LATE, project_id=9), dated(LATEST, LATEST)], [SINCE], False),
        ([dated(LATEST, LATEST), dated(LATEST, LATEST, modified_by="b")],
         [f"{SINCE}, and two or more equally new deliveries say different things"],
         False),
        ([dated(LATEST, LATEST, **OUT)], [], True),
        ([dated(LATEST, LATEST, project_id=9, **OUT)], [], False),
    ],
)  # fmt: skip
def test_W3_of_what_was_delivered_since_the_newest_of_a_row_is_judged(
    later, told, is_mend
):
    before = [dated(EARLY, EARLY, **OUT)]
    world = nobody_sees() | {"project_permissions": [*before, *later]}
    staged = world | {"project_permissions": before}
    given = {"user": "ann", "tier": "project", "object": "project_id=1"}
    (answer,) = asked_of(world, staged).ask(**given)
    items = [s for s in said(answer["gates"]) if "does not count: " in s]
    since = [s.partition("does not count: ")[2] for s in items if SINCE in s]
    assert since == told
    assert bool(answer.get("mends")) is is_mend


def test_W3_a_rejected_row_that_came_anew_is_not_told_to_be_mended():
    before = [dated("15/06/2026", EARLY)]
    given = {"user": "ann", "tier": "project", "object": "project_id=1"}
    for later in ([], [dated("16/06/2026", LATE, project_id=9)]):
        world = nobody_sees() | {"project_permissions": [*before, *later]}
        staged = world | {"project_permissions": before}
        (answer,) = asked_of(world, staged).ask(**given)
        assert bool(answer.get("mends")) is (not later)


HIDDEN = "row 1 of tests is hidden with its parent: its project_id is row 1 of projects"


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        ({"tests": {"is_active": "false"}},
         f"it is row 1 of tests, which is {OFF.format('2026-01-01')}"),
        ({"tests": {"project_id": "one"}},
         "it is row 1 of tests, which is rejected: its project_id 'one' can't be read"),
        ({"projects": {"is_active": "false"}},
         f"{HIDDEN}, which is {OFF.format('2026-01-01')}"),
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


# ---------------------------------------------------------------------------
# Sentences
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "table", "raw", "wanted"),
    [
        ("unreadable id", "users", {"id": "x"}, "its id 'x' can't be read"),
        ("unreadable id", "users", {"id": None}, "its id is empty"),
        ("unreadable date_modified", "users", {"date_modified": "15/06/2026"},
         "its date_modified '15/06/2026' can't be read"),
        # Nothing is known of the delivery.
        ("unreadable date_modified", "users", {}, "its date_modified can't be read"),
        ("missing project_id", "tests", {"project_id": " "}, "its project_id is empty"),
        ("conflict", "users", {},
         "two or more equally new deliveries say different things"),
        ("holder", "project_permissions", {"user_id": "1", "user_group_id": "2"},
         "it names both a user and a group"),
        ("holder", "project_permissions", {"user_id": None, "user_group_id": None},
         "it names neither a user nor a group"),
        ("role", "project_permissions", {"role_name": "Owner"},
         "its role 'Owner' is none that the seed role_permissions knows for projects"),
        ("role", "data_source_permissions", {"role_name": None},
         "it names no role, and for data sources one is needed"),
        ("role", "user_global_roles", {"role_name": "Boss"},
         "its role 'Boss' is no global role of the seed role_permissions"),
        ("role", "user_global_roles", {"role_name": None}, "it names no role"),
        ("context", "events", {"context": "Moon"},
         "its context 'Moon' is none of those known"),
        ("context", "events", {"context": None}, "its context is none of those known"),
        ("context key", "events", {"context": "Project"},
         "it names no object for its context 'Project'"),
    ],
)  # fmt: skip
def test_W3_a_rejection_is_told_in_a_sentence(reason, table, raw, wanted):
    assert flaw_of(reason, table, raw) == wanted


def test_W3_white_space_alone_is_nothing_as_staging_reads_it():
    raw = {"user_id": " ", "user_group_id": "\u00a0", "role_name": "\u2003"}
    found = delivered({"raw_row": json.dumps(raw)})
    told = flaw_of("holder", "project_permissions", found)
    assert told == "it names neither a user nor a group"
    assert flaw_of("role", "user_global_roles", found) == "it names no role"


def test_W3_every_reason_of_staging_has_a_sentence():
    tables = Macros(document_of(PRODUCTS)).repository_tables()
    reasons = {
        (table, reason)
        for table, entry in tables.items()
        for reason in re.findall("then '([^']*)'", rejection_reason(Raw(entry)))
    }
    found = {reason for _, reason in reasons}
    assert found >= {"unreadable id", "conflict", "holder", "role", "context key"}
    for table, reason in reasons:
        assert flaw_of(reason, table, {}) != reason, reason


@pytest.mark.parametrize(
    ("column", "value", "setting"),
    [
        ("date_created", "2026-03-01T00:30:00Z", "timestamps: iso"),
        ("event_date", "2026-03-01 00:30:00.5+02:00", "timestamps: iso"),
        ("date_created", "1772325000", "timestamps: epoch_seconds"),
        ("sf_date_created", "1772325000000", "timestamps: epoch_millis"),
        ("date_created", "1772325000000000", "timestamps: epoch_micros"),
        ("is_active", "Y", "true: [Y]"),
        ("is_active", "f", "false: [f]"),
        ("date_created", "yesterday", None),
        ("is_active", "maybe", None),
        ("project_id", "1772325000.5", None),
    ],
)
def test_f12_what_a_setting_would_read_is_told_with_the_setting(column, value, setting):
    told = flaw_of(f"unreadable {column}", "users", {column: value})
    assert told.startswith(f"its {column} '{value}' can't be read")
    end = f": vars: {{feeds: {{users: {{reads: {{{setting}}}}}}}}} would read it"
    assert told.endswith(end if setting else "can't be read")


def test_f1_what_a_deleted_row_named_is_told_with_when_it_was_deleted():
    row = {"row_id": 1, "reason": "deleted", "since": "2026-03-02 00:00:00"}
    row |= {"user_id": 8, "user_group_id": 5}
    found = judged("user_group_members", [row], ["user_id", "user_group_id"])
    (candidate,) = found
    (flaw,) = candidate.flaws
    told = "deleted on 2026-03-02 00:00:00, by row 1 of user_group_members"
    assert flaw.says == told
    gone = {"rejection_reason": None, "is_live": False}
    gone |= {"is_deleted": True, "deleted_on": None}
    assert flaw_of_staged(gone, "user_groups") == "deleted, when is not recorded"


def test_W3_of_a_rejected_row_only_the_value_that_is_wrong_is_told():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    world["users"][0] |= {"email": "ann@example.com", "is_active": "a\x1b" + 90 * "b"}
    (answer,) = asked_of(world).ask(user=1, dataset="tests", row={"test_id": 1})
    (told,) = said(answer["gates"][1]["evidence"])
    shown = "'a\x1b" + 58 * "b" + "...'"
    rejected = f"rejected: its is_active {shown} can't be read"
    assert told == f"row 1 of users does not count: {rejected}"
    assert "example.com" not in json.dumps(answer)
    lines = asked_of(world).lines(user=1, dataset="tests", row={"test_id": 1})
    assert not any("\x1b" in line or "example.com" in line for line in lines)


# ---------------------------------------------------------------------------
# What would do once it is put right
# ---------------------------------------------------------------------------

BAD_DATE = {"date_modified": "15/06/2026"}


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        ([to_user(is_active="0")],
         ["row 5 of project_permissions: it is switched off"]),
        ([to_user(**BAD_DATE)],
         ["row 5 of project_permissions: its date_modified '15/06/2026' can't be"
          " read"]),
        ([to_user(role_name="Owner")],
         ["row 5 of project_permissions: its role 'Owner' is none that the seed"
          " role_permissions knows for projects; its role has to be one that gives"
          " Project Member"]),
        # It was taken away, whenever that was.
        ([to_user(), to_user(is_active="0", **BAD_DATE)], []),
        # It would name two holders.
        ([to_user(user_group_id="2", **BAD_DATE)], []),
        # What was delivered last is of somebody else.
        ([to_user(), to_user(user_id=7, **BAD_DATE)], []),
        ([to_user(), to_user(user_id=7, **LATER)], []),
        # Nobody can say which of both was meant.
        ([to_user(), to_user(modified_by="b")], []),
    ],
)  # fmt: skip
def test_W3_what_is_there_and_would_open_the_tier_by_itself_is_told(rows, wanted):
    world = nobody_sees() | {"project_permissions": rows}
    given = {"user": "ann", "tier": "project", "object": "project_id=1"}
    (answer,) = asked_of(world).ask(**given)
    assert [item["says"] for item in answer.get("mends", [])] == wanted
    lines = asked_of(world).lines(**given)
    assert any(line.startswith("Mend what is there: ") for line in lines) is bool(
        wanted
    )


def test_W3_of_two_gaps_only_what_closes_both_is_told():
    world = nobody_sees() | {"project_permissions": [to_user(is_active="0")]}
    given = {"tier": "results", "object": "project_id=1, meta_data_source_id=1"}
    (answer,) = asked_of(world).ask(user=1, **given)
    assert "mends" not in answer
    world["project_permissions"] = [to_risk()]
    grant = {"meta_data_source_id": 1, "user_group_id": 1, "role_name": "Tester"}
    world["data_source_permissions"] = [raw("data_source_permissions", id=1, **grant)]
    world["user_group_members"][0]["is_active"] = "0"
    (answer,) = asked_of(world).ask(user=1, **given)
    (mend,) = answer["mends"]
    assert mend["says"] == "row 1 of user_group_members: it is switched off"


@pytest.mark.parametrize("parent", [None, 1])
def test_W3_a_group_that_would_close_a_ring_opens_nothing_once_switched_on(parent):
    world = nobody_sees() | {"project_permissions": [to_risk()]}
    parent = parent and str(parent)
    world["user_groups"][1] |= {"is_active": "0", "parent_user_group_id": parent}
    (answer,) = asked_of(world).ask(user=1, tier="project", object="project_id=1")
    mends = [(row["table"], row["id"]) for row in answer.get("mends", [])]
    assert mends == ([] if parent else [("user_groups", 2)])
    after = put_right(world, "user_groups", 2, None)
    assert ((1,) in reached(after, 1)["project"]) is (parent is None)


def put_right(world: World, table: str, row_id: int, right: str | None) -> World:
    """Return a world in which one row is as it was meant: active, and all readable."""
    rows = [r for r in world[table] if read_value("bigint", r["id"]) == row_id]
    (row, *_) = newest([read_delivery(table, row) for row in rows])
    dates = ("date_created", "date_modified", "sf_date_created")
    mended = row.raw | dict.fromkeys(dates, "2027-01-01 00:00:00")
    mended["is_active"] = "true"
    if right:
        # What has it need not have it alone.
        roles = ROLE_PERMISSIONS[ROLE_TABLES[table]]
        plain = right == "Project Member"
        mended["role_name"] = next(r for r, n in roles.items() if plain or right in n)
    others = [r for r in world[table] if read_value("bigint", r["id"]) != row_id]
    return world | {table: [*others, mended]}


@pytest.mark.parametrize("seed", WORLDS)
def test_W3_each_row_that_is_said_to_open_the_tier_does_so_by_itself(seed):
    world, chance, told = random_world(seed), random.Random(seed), 0
    asked, staging = asked_of(world), stage(world)
    users, sources = (sorted(staging.live(t)) for t in ("users", "meta_data_sources"))
    projects = sorted(staging.live("projects"))
    pairs = [(p, s) for p in projects for s in sources]
    places = [("project", (p,)) for p in projects]
    places += [("data_source", (s,)) for s in sources]
    places += [("results", pair) for pair in chance.sample(pairs, min(12, len(pairs)))]
    every = [(user, *place) for user in users for place in places]
    held = {user: reached(world, user) for user in users}
    for user, tier, key in chance.sample(every, min(60, len(every))):
        if key in held[user][tier]:
            continue
        named = dict(zip(NAMES[tier], key, strict=True))
        answers = asked.ask(user=user, tier=tier, object=named)
        (answer,) = [a for a in answers if a["user"]["user_id"] == user]
        for mend in answer.get("mends", []):
            right = mend["says"].partition("one that gives ")[2] or None
            after = put_right(world, mend["table"], mend["id"], right)
            assert key in reached(after, user)[tier], (user, tier, key, mend)
            told += 1
    assert told or MORE


# ---------------------------------------------------------------------------
# What would help where no new row does
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edit", "wanted"),
    [
        ({"users": {"is_active": "0"}},
         "no new row helps until row 1 of users is switched on again"),
        ({"users": {"is_active": "si"}},
         "no new row helps: row 1 of users has to be mended at its source"),
        ({"tests": {"project_id": None}},
         "mend row 1 of tests at its source: nobody sees it until then"),
        ({"tests": {"is_active": "0"}},
         "nobody sees it until row 1 of tests is switched on again"),
        ({"projects": {"id": "2"}}, "nobody sees it until row 1 of projects is there"),
        # New rows do, and they are told.
        ({}, None),
    ],
)  # fmt: skip
def test_W3_where_no_new_row_helps_one_sentence_says_what_does(edit, wanted):
    world = nobody_sees()
    for table, values in deepcopy(edit).items():
        world[table][0] |= values
    given = {"user": 1, "dataset": "tests", "row": {"test_id": 1}}
    (answer,) = asked_of(world).ask(**given)
    assert answer["what_helps"] == wanted
    assert bool(answer.get("nearest")) is (wanted is None)
    lines = asked_of(world).lines(**given)
    if wanted:
        assert f"{wanted[0].upper()}{wanted[1:]}." in lines
    assert ("Nearest missing grants" in lines) is (wanted is None)
