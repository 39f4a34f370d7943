"""What an access review finds: V1, over random worlds in DuckDB, and rule by rule.

`FINDING_WORLDS=300` in the environment looks at 300 worlds instead of 3.
"""

from __future__ import annotations

import copy
import csv
import os
import random
import re
from collections import Counter

import pytest
from oracle.contract import (
    OBJECT_TABLES,
    PARENT_TABLES,
    ROLE_PERMISSIONS,
    TABLES,
    UNREADABLE,
    Groups,
    Rights,
    Staging,
    World,
    effective_user_permissions,
    read_value,
)
from projects import ROOT
from random_worlds import random_world
from rendering import ENVIRONMENT
from review_packs import reviewed_sample
from review_sandbox import Reviewed, asked_with
from sample import EXPECTED
from tier_questions import NAMES, VIEWS, nobody_sees, raw, to_user
from why_sandbox import PATH_COLUMNS, access_paths

from dbt_secure_spark.settings import check_vars
from secure_datasets.review.adapter import SeverityError
from secure_datasets.review.decisions import is_day
from secure_datasets.review.finding_rules import RULES

WORLDS = int(os.environ.get("FINDING_WORLDS", 3))
JUDGED = (
    *("user_global_roles", "user_group_members", "project_data_sources"),
    *("data_source_permissions", "project_permissions", "report_permissions"),
)
FOUND = {
    "redundant": "redundant-grant",
    "has another way": "second-way",
    "gives nothing": "grant-gives-nothing",
}


class State:
    """What a staged world gives, by the evaluator."""

    def __init__(self, staging: Staging) -> None:
        rights = Rights(staging)
        found = {tier: view(rights) for tier, view in VIEWS.items()}
        self.rows = {
            (tier, row["user_id"], *(row[key] for key in NAMES[tier])): row.get(
                "access_type"
            )
            for tier, rows in found.items()
            for row in rows
        }
        shown = found["results"]
        self.results = {(row["user_id"], row["meta_data_source_id"]) for row in shown}
        self.linked = {(row["project_id"], row["meta_data_source_id"]) for row in shown}
        held = {
            (r["user_id"], r["object_type"], r["object_id"], r["permission_name"])
            for r in effective_user_permissions(rights)
        }
        self.rights = {right for right in held if not self.is_idle(right)}
        groups = Groups(staging).holders()
        self.groups = {(user, key) for key, users in groups.items() for user in users}

    def takes(self, after: State) -> bool:
        """Say whether somebody has less in another state."""
        rows = set(self.rows) - set(after.rows)
        return bool(rows or self.rights - after.rights or self.groups - after.groups)

    def is_idle(self, right: tuple) -> bool:
        """Say whether nothing shows by a right, for want of a link."""
        user, _, key, permission = right
        return permission == "View Test Results" and (user, key) not in self.results


def without(staging: Staging, rows: set[tuple[str, int]]) -> Staging:
    """Return a staged world without some rows."""
    winners = {
        table: {key: row for key, row in found.items() if (table, key) not in rows}
        for table, found in staging.winners.items()
    }
    return Staging(winners, staging.rejected)


def giving(staging: Staging, state: State) -> set[tuple[str, int]]:
    """Return the rows by which somebody has a right, or could reach one."""
    found = set()
    for row in access_paths(staging):
        path = dict(zip(PATH_COLUMNS, row, strict=True))
        right = tuple(path[c] for c in PATH_COLUMNS[:4])
        if not state.is_idle(right):
            found.add((path["grant_table"], path["grant_id"]))
    users, groups = staging.live("users"), staging.live("user_groups")
    for key, row in staging.live("user_group_members").items():
        if row["user_id"] in users and row["user_group_id"] in groups:
            found.add(("user_group_members", key))
    for key, row in staging.live("project_data_sources").items():
        if (row["project_id"], row["meta_data_source_id"]) in state.linked:
            found.add(("project_data_sources", key))
    return found


def is_of_something_else(staging: Staging, row: tuple[str, int]) -> bool:
    """Say whether a row is a global role that grants nothing here."""
    if row[0] != "user_global_roles":
        return False
    entry = staging.live(row[0])[row[1]]
    is_live = entry["user_id"] in staging.live("users")
    return is_live and not ROLE_PERMISSIONS["Global"][entry["role_name"]]


def verdict(before: State, after: State, gives: bool) -> str:
    """Say what goes with a row, by what is left without it."""
    if before.takes(after):
        return "counts"
    if not gives:
        assert before.rows == after.rows
        return "gives nothing"
    return "redundant" if before.rows == after.rows else "has another way"


CALLED = {
    "users": "user", "user_groups": "group",
    **{table: kind.lower() for kind, (table, _) in OBJECT_TABLES.items()},
}  # fmt: skip


def not_live(staging: Staging, row: tuple[str, int]) -> set[tuple]:
    """Return what a row is about that is not live, each with why it can't be used."""
    reasons = {
        (table, read_value("bigint", raw_id)): reason
        for table, raw_id, reason, _ in staging.rejected
        if read_value("bigint", raw_id) is not UNREADABLE
    }
    entry = staging.live(row[0])[row[1]]
    return {
        (table, entry[column], reasons.get((table, entry[column])))
        for column, table in PARENT_TABLES.items()
        if entry.get(column) is not None and entry[column] not in staging.live(table)
    }


def told_not_live(missing: str) -> set[tuple]:
    """Return the same as a finding tells it."""
    tables = {called: table for table, called in CALLED.items()}
    # A name may hold anything but what the next part begins with.
    name = r"(?:(?!; (?:holder|object|link): ).)*?"
    called = rf"({'|'.join(tables)}) (-?\d+)(?: \({name}\))?"
    found = re.findall(rf"(?:holder|object): {called} is not live", missing, re.S)
    told = {(tables[kind], int(key), None) for kind, key in found}
    found = re.findall(
        rf"(?:holder|object): the newest row of {called} can't be used \(([^;]+?)\)",
        missing,
        re.S,
    )
    return told | {(tables[kind], int(key), why) for kind, key, why in found}


@pytest.mark.parametrize("seed", range(WORLDS))
def test_V1_a_row_that_gives_nothing_tells_what_is_not_live_and_what_cannot_be_read(
    seed,
):
    reviewed = Reviewed(random_world(seed))
    found = reviewed.rows("select * from judged_grants where missing is not null")
    told = {None: 0}
    for row in found:
        wanted = not_live(reviewed.staging, (row["grant_table"], row["grant_id"]))
        assert told_not_live(row["missing"]) == wanted, row
        for _, _, reason in wanted:
            told[reason] = told.get(reason, 0) + 1
    # Of both kinds, though not in each of many worlds.
    assert seed > 2 or (told[None] and len(told) > 1)


@pytest.mark.parametrize("seed", range(WORLDS))
def test_V1_what_goes_with_a_row_is_what_is_missing_without_it(seed):
    reviewed = Reviewed(random_world(seed))
    staging = reviewed.staging
    before, chance = State(staging), random.Random(seed)
    gives = giving(staging, before)
    judged = {
        (row["grant_table"], row["grant_id"]): row
        for row in reviewed.rows("select * from judged_grants")
    }
    assert set(judged) == {(t, key) for t in JUDGED for key in staging.live(t)}
    kinds = {}
    for row, found in judged.items():
        is_stood_in_for = found["verdict"] in ("redundant", "has another way")
        assert bool(found["stands_in"]) is is_stood_in_for, row
        if is_of_something_else(staging, row):
            assert found["verdict"] == "counts"
            continue
        wanted = verdict(before, State(without(staging, {row})), row in gives)
        assert found["verdict"] == wanted, row
        kinds.setdefault(wanted, []).append(row)
        assert bool(found["missing"]) is (wanted == "gives nothing")
    said = {
        (row["rule"], row["raw_table"], row["raw_id"])
        for row in reviewed.rows("select * from access_findings")
        if row["rule"] in FOUND.values()
    }
    assert said == {
        (FOUND[kind], *row) for kind, rows in kinds.items() for row in rows
        if kind in FOUND
    }  # fmt: skip
    stood_in_for = kinds.get("redundant", []) + kinds.get("has another way", [])
    for row in chance.sample(stood_in_for, min(12, len(stood_in_for))):
        standing_in(staging, before, row, judged[row])


def standing_in(staging: Staging, before: State, row: tuple, found: dict) -> None:
    """Check that what is said to stand in for a row holds up what it gives."""
    others = {(o.split()[0], int(o.split()[1])) for o in found["stands_in"].split(", ")}
    assert len(others) == min(found["stands_in_number"], 10)
    assert row not in others
    if found["stands_in_number"] > 10:
        return
    left = copy.copy(staging)
    # The object's own row makes an owner: without the owner it is still there.
    left = without(left, {o for o in others | {row} if o[0] in JUDGED})
    for table, key in others - {o for o in others if o[0] in JUDGED}:
        rows = left.winners[table]
        left.winners[table] = rows | {key: rows[key] | {"owner_user_id": None}}
    assert before.takes(State(left)), row


# -- Each rule: where it must speak, and where it must not ----------------------------


def owned() -> World:
    """A user with a right on a data source that somebody else owns."""
    world = nobody_sees()
    world["users"] = [
        raw("users", id=1, login_name="ann", date_last_login="2026-06-30 23:59:59"),
        raw("users", id=2, login_name="bo", date_last_login="2026-06-30 10:00:00"),
    ]
    world["meta_data_sources"][0]["owner_user_id"] = "2"
    world["data_source_permissions"] = [grant(1)]
    return world


def grant(key: int, role: str = "ViewMetadata", **values: object):
    """Return a right of user 1 on data source 1."""
    to = {"user_id": 1} if "user_group_id" not in values else {}
    return raw(
        "data_source_permissions", id=key, meta_data_source_id=1, role_name=role,
        **to | values,
    )  # fmt: skip


def edited(world: World, table: str, key: int, **values: object) -> World:
    """Return a world with a row's values changed, or with one more row."""
    world = copy.deepcopy(world)
    given = {name: None if v is None else str(v) for name, v in values.items()}
    for row in world[table]:
        if row["id"] == str(key):
            row |= given
            return world
    world[table].append(raw(table, id=key, **values))
    return world


def admin(world: World, key: int, user: int, role: str = "Global.Admin") -> World:
    """Return a world with one more global role."""
    return edited(world, "user_global_roles", key, user_id=user, role_name=role)


def last_login(world: World, user: int, moment: str | None) -> World:
    """Return a world in which a user was last seen at a moment."""
    return edited(world, "users", user, date_last_login=moment)


def two_ways() -> World:
    """The right once more."""
    return edited(
        owned(), "data_source_permissions", 2, meta_data_source_id=1, user_id=1,
        role_name="ViewMetadata",
    )  # fmt: skip


def linkless() -> World:
    """A right on test results of a user who is a member of no project."""
    return edited(owned(), "data_source_permissions", 1, role_name="ViewTestResults")


def member_of_both() -> World:
    """A member of a group, and of the one above it."""
    return edited(owned(), "user_group_members", 2, user_group_id=2, user_id=1)


def held_five_times() -> World:
    """The right by five rows, and another one by a sixth."""
    world = owned()
    for key in range(2, 6):
        world["data_source_permissions"].append(grant(key))
    world["data_source_permissions"].append(grant(9, "CreateTests"))
    return world


def idle_link() -> World:
    """A project that is linked to a data source, and who holds a right on one alone."""
    world = edited(linkless(), "users", 1, is_active="false")
    world = edited(world, "meta_data_sources", 1, owner_user_id=None)
    return edited(world, "projects", 1, name="Close")


WHY_NOT_BOTH = "; not both, because: who tests looks at nothing"
PAIR = [("Data Source", "Create Tests", "View Metadata", "who tests looks at nothing")]
# Rule: the cases in which it must speak with what it says, and those in which not.
CASES = {
    "dormant-admin": (
        [
            (last_login(admin(owned(), 1, 1), 1, "2026-04-02 23:59:59"),
             "user 1", "holds Global Admin; last login on 2026-04-02"),
            (last_login(admin(owned(), 1, 1, "Global.DataSourceAdmin"), 1, None),
             "user 1", "holds Global Data Source Admin; has never logged in"),
        ],
        [
            last_login(admin(owned(), 1, 1), 1, "2026-04-03 00:00:00"),
            last_login(admin(owned(), 1, 1, "Global.SecurityAdmin"), 1, None),
            last_login(owned(), 1, None),
            edited(last_login(admin(owned(), 1, 1), 1, None), "users", 1,
                   date_created="2026-06-01 00:00:00"),
            edited(last_login(admin(owned(), 1, 1), 1, None), "users", 1,
                   is_active="false"),
        ],
    ),
    "dormant-access": (
        [
            (last_login(owned(), 1, "2026-04-02 00:00:00"), "user 1",
             "has rights on 1 object; last login on 2026-04-02"),
            (last_login(edited(owned(), "project_permissions", 5,
                              project_id=1, user_id=1), 1, None),
             "user 1", "has rights on 2 objects; has never logged in"),
        ],
        [
            owned(),
            last_login(owned(), 1, "2026-04-03 00:00:00"),
            # An admin is told of as one.
            last_login(admin(owned(), 1, 1), 1, None),
            # Who has no right has nothing to take away.
            edited(last_login(owned(), 1, None), "data_source_permissions", 1,
                   is_active="false"),
            edited(last_login(owned(), 1, None), "users", 1,
                   date_created="2026-04-03 00:00:00"),
        ],
    ),
    "too-many-global-admins": (
        [(admin(admin(owned(), 1, 1), 2, 2), "global admins",
          "2 live users are Global Admin, and global_admins_limit is 1")],
        [
            admin(owned(), 1, 1),
            admin(admin(owned(), 1, 1), 2, 1),
            admin(admin(owned(), 1, 1), 2, 2, "Global.DataSourceAdmin"),
            edited(admin(admin(owned(), 1, 1), 2, 2), "users", 2, is_active="false"),
        ],
    ),
    "redundant-grant": (
        [
            (two_ways(), "data_source_permissions 1",
             "the role ViewMetadata: nobody loses anything without this row, as the"
             " same is given by data_source_permissions 2"),
            (member_of_both(), "user_group_members 2",
             "nobody loses anything without this row, as the same is given by"
             " user_group_members 1"),
        ],
        [
            owned(),
            # The other one is of another user, and gives another right.
            edited(two_ways(), "data_source_permissions", 2, user_id=2),
            edited(two_ways(), "data_source_permissions", 2, role_name="EditMetadata"),
            edited(two_ways(), "data_source_permissions", 2, is_active="false"),
        ],
    ),
    "second-way": (
        [(edited(owned(), "data_source_permissions", 1, user_id=2),
          "data_source_permissions 1",
          "the role ViewMetadata: nobody loses anything without this row, as the same"
          " is given by meta_data_sources 1; only access_type changes, which then names"
          " one kind of way")],
        # Nothing changes, or a right goes.
        [two_ways(), owned()],
    ),
    "grant-gives-nothing": (
        [
            (edited(owned(), "users", 1, is_active="false"),
             "data_source_permissions 1", "holder: user 1 (ann) is not live"),
            (edited(owned(), "meta_data_sources", 1, is_active="false"),
             "data_source_permissions 1", "object: data source 1 (crm) is not live"),
            (linkless(), "data_source_permissions 1",
             "link: nobody who holds it is a member of a project that is linked to data"
             " source 1 (crm)"),
            # What has no name, or is not there at all, is its number.
            (edited(linkless(), "meta_data_sources", 1, name=None),
             "data_source_permissions 1",
             "link: nobody who holds it is a member of a project that is linked to data"
             " source 1"),
            (edited(owned(), "data_source_permissions", 1, user_id=None,
                    user_group_id=99),
             "data_source_permissions 1", "holder: group 99 is not live"),
            (edited(edited(owned(), "data_source_permissions", 1, user_id=None,
                           user_group_id=2), "user_groups", 2, is_active="0"),
             "data_source_permissions 1", "holder: group 2 (Risk) is not live"),
            (edited(edited(owned(), "data_source_permissions", 1, user_id=None,
                           user_group_id=2), "user_group_members", 1, is_active="0"),
             "data_source_permissions 1", "holder: group 2 (Risk) has no live member"),
            (edited(owned(), "user_groups", 1, is_active="false"),
             "user_group_members 1", "object: group 1 (Staff) is not live"),
            (edited(owned(), "projects", 1, is_active="false"),
             "project_data_sources 1", "object: project 1 (Core) is not live"),
            (idle_link(), "project_data_sources 1",
             "holder: nobody holds both View Test Results on data source 1 (crm) and"
             " Project Member on project 1 (Close)"),
            (edited(owned(), "users", 1, is_active="false", first_name="Ann",
                    last_name="Ash"),
             "data_source_permissions 1", "holder: user 1 (Ann Ash) is not live"),
            # What can't be used is mended where it comes from.
            (edited(owned(), "users", 1, date_last_login="soon"),
             "data_source_permissions 1", "holder: the newest row of user 1 can't be"
             " used (unreadable date_last_login)"),
            (edited(owned(), "meta_data_sources", 1, owner_user_id="bo"),
             "data_source_permissions 1", "object: the newest row of data source 1"
             " can't be used (unreadable owner_user_id)"),
            (edited(edited(owned(), "data_source_permissions", 1, user_id=None,
                           user_group_id=2), "user_groups", 2,
                    parent_user_group_id="x"),
             "data_source_permissions 1", "holder: the newest row of group 2 can't be"
             " used (unreadable parent_user_group_id)"),
            (edited(owned(), "user_groups", 1, parent_user_group_id="x"),
             "user_group_members 1", "object: the newest row of group 1 can't be used"
             " (unreadable parent_user_group_id)"),
            (edited(owned(), "projects", 1, date_modified="x"),
             "project_data_sources 1", "object: the newest row of project 1 can't be"
             " used (unreadable date_modified)"),
            (edited(edited(owned(), "reports", 1, owner_user_id="x"),
                    "report_permissions", 1, report_id=1, user_id=1, role_name="View"),
             "report_permissions 1", "object: the newest row of report 1 can't be used"
             " (unreadable owner_user_id)"),
        ],
        [
            edited(edited(linkless(), "project_permissions", 5, project_id=1,
                   user_id=1), "project_data_sources", 1),
            # It gives a right that no access view shows.
            edited(edited(owned(), "data_source_permissions", 1, role_name="RunTests"),
                   "project_data_sources", 1, is_active="false"),
        ],
    ),
    "data-source-without-owner": (
        [
            (nobody_sees(), "Data Source 1", "has no owner"),
            (edited(owned(), "users", 2, is_active="false"), "Data Source 1",
             "its owner, user 2 (bo), is not live"),
            (edited(owned(), "users", 2, is_active="false", last_name="Berg"),
             "Data Source 1", "its owner, user 2 (Berg), is not live"),
            (edited(owned(), "users", 2, date_last_login="soon"), "Data Source 1",
             "its owner: the newest row of user 2 can't be used (unreadable"
             " date_last_login)"),
        ],
        [owned(), edited(nobody_sees(), "meta_data_sources", 1, is_active="false")],
    ),
    "group-parent-ignored": (
        [
            (edited(owned(), "user_groups", 2, is_active="false"), "User Group 1",
             "its parent, group 2 (Risk), is not live"),
            (edited(owned(), "user_groups", 2, parent_user_group_id=1), "User Group 1",
             "it is in a ring with its parent, group 2 (Risk)"),
            (edited(owned(), "user_groups", 2, is_active="0", name=None),
             "User Group 1", "its parent, group 2, is not live"),
            (edited(owned(), "user_groups", 2, parent_user_group_id="x"),
             "User Group 1", "its parent, group 2, can't be used by its newest row"
             " (unreadable parent_user_group_id)"),
        ],
        [owned(), edited(edited(owned(), "user_groups", 2, is_active="false"),
                         "user_groups", 1, is_active="false")],
    ),
    "toxic-pair": (
        [
            (edited(owned(), "data_source_permissions", 1, role_name="Tester"),
             "user 1 on Data Source 1: Create Tests and View Metadata",
             "holds Create Tests, by data_source_permissions 1; View Metadata, by"
             f" data_source_permissions 1{WHY_NOT_BOTH}"),
            (admin(owned(), 1, 1),
             "user 1 on every Data Source: Create Tests and View Metadata",
             "holds Create Tests, by user_global_roles 1; View Metadata, by"
             f" user_global_roles 1{WHY_NOT_BOTH}"),
            # One of the two by a global role.
            (admin(owned(), 1, 1),
             "user 1 on Data Source 1: Create Tests and View Metadata",
             "holds Create Tests, by user_global_roles 1; View Metadata, by"
             f" data_source_permissions 1, user_global_roles 1{WHY_NOT_BOTH}"),
            # By more rows than are named.
            (held_five_times(),
             "user 1 on Data Source 1: Create Tests and View Metadata",
             "holds Create Tests, by data_source_permissions 9; View Metadata, by"
             " data_source_permissions 1, data_source_permissions 2,"
             f" data_source_permissions 3 and 2 more{WHY_NOT_BOTH}"),
        ],
        [
            edited(owned(), "meta_data_sources", 1, owner_user_id=None),
            # Each on an object of its own.
            edited(edited(edited(owned(), "meta_data_sources", 1, owner_user_id=None),
                          "meta_data_sources", 2, name="two"),
                   "data_source_permissions", 2, meta_data_source_id=2, user_id=1,
                   role_name="CreateTests"),
        ],
    ),
    # In test_review_decisions.py: they ask for decisions.
    "removed-and-still-there": ([], []),
    "void-decision": ([], []),
}  # fmt: skip
SPEAKS = [(rule, i) for rule, (says, _) in CASES.items() for i in range(len(says))]
SILENT = [(rule, i) for rule, (_, not_) in CASES.items() for i in range(len(not_))]


def reviewed(world: World, **given: object) -> Reviewed:
    """Return what is found in a world, with a limit of one and a toxic pair."""
    given = {"settings": {"global_admins_limit": 1}, "toxic_pairs": PAIR} | given
    return Reviewed(world, **given)


@pytest.mark.parametrize(("rule", "case"), SPEAKS)
def test_V1_a_rule_speaks_where_it_must(rule, case):
    world, subject, detail = CASES[rule][0][case]
    found = reviewed(world).findings(rule)
    assert subject in found
    assert found[subject]["detail"] == detail


def test_V1_who_is_dormant_is_not_judged_where_the_feed_brings_no_logins(tmp_path):
    world = reviewed_sample().world
    blank = [
        # What can't be read makes its row one that is rejected, with or without this.
        row | {"date_last_login": ""}
        if is_day((row["date_last_login"] or "")[:10])
        else row
        for row in world["users"]
    ]
    before = reviewed(world)
    after = reviewed({**world, "users": blank})
    said = "not judged: date_last_login is empty in every row of users; look whether"
    for rule in ("dormant-admin", "dormant-access"):
        assert before.findings(rule).keys().isdisjoint(["users.date_last_login"])
        ((subject, row),) = after.findings(rule).items()
        assert subject == "users.date_last_login"
        assert row["detail"] == f"{said} the feed brings it"
        assert row["who_acts"] == "the global administrators"
    others = {"dormant-admin", "dormant-access"}
    found = [
        {name for name, row in each.findings().items() if row["rule"] not in others}
        for each in (before, after)
    ]
    assert found[0] == found[1]
    # One login of somebody who has left is enough to know that the feed brings them.
    one = [*blank[:-1], blank[-1] | {"date_last_login": "2020-01-01 00:00:00"}]
    assert len(reviewed({**world, "users": one}).findings("dormant-access")) > 1
    # Nobody is said to have never logged in, and the pack counts the rules.
    after.pack(tmp_path / "pack")
    with (tmp_path / "pack/data-source-1.csv").open(encoding="utf-8-sig") as file:
        assert {row["last login"] for row in csv.DictReader(file)} == {"not known"}
    index = (tmp_path / "pack/index.html").read_text(encoding="utf-8")
    assert "what is not judged" in index


@pytest.mark.parametrize(("rule", "case"), SILENT)
def test_V1_a_rule_is_silent_where_it_must_be(rule, case):
    world = CASES[rule][1][case]
    found = reviewed(world).findings(rule)
    # The owner holds both rights of the pair, too.
    assert [s for s in found if "user 2" not in s] == []


@pytest.mark.parametrize(
    ("table", "key", "subject", "detail"),
    [
        ("users", 2, "data-source-without-owner: Data Source 1", "user 2 (bo), "),
        ("user_groups", 2, "group-parent-ignored: User Group 1", "group 2 (Risk), "),
        ("users", 1, "grant-gives-nothing: data_source_permissions 1", "user 1 (ann) "),
        ("projects", 1, "grant-gives-nothing: project_data_sources 1",
         "object: project 1 (Core) "),
    ],
)  # fmt: skip
def test_F7_a_finding_names_what_is_no_longer_delivered(table, key, subject, detail):
    before = owned()
    now = before | {table: [row for row in before[table] if row["id"] != str(key)]}
    told = reviewed(now, before=before).findings()[subject]["detail"]
    assert f"{detail}is no longer delivered since 2026-06-30" in told
    assert "no longer delivered" not in str(reviewed(now).findings())


def test_F7_what_did_not_count_before_is_not_missed():
    before = edited(owned(), "users", 2, is_active="false")
    now = before | {"users": [row for row in before["users"] if row["id"] != "2"]}
    found = reviewed(now, before=before).findings()
    assert "user 2" in found["data-source-without-owner: Data Source 1"]["detail"]
    assert "no longer delivered" not in str(found)


def stands_in_for(world: World, table: str, key: int) -> tuple[int, str]:
    """Return how many rows stand in for one, and which."""
    (found,) = reviewed(world).rows(
        "select verdict, stands_in_number, stands_in from judged_grants"
        f" where grant_table = '{table}' and grant_id = {key}"
    )
    assert found["verdict"] == "redundant"
    return found["stands_in_number"], found["stands_in"]


def test_V1_the_same_global_role_stands_in_for_one():
    world = admin(admin(owned(), 1, 1), 2, 1)
    found = stands_in_for(world, "user_global_roles", 1)
    assert found == (1, "user_global_roles 2")


def test_V1_what_shows_nothing_stands_in_for_nothing():
    results = {"role": "ViewTestResults"}
    world = edited(owned(), "user_group_members", 2, user_group_id=1, user_id=2)
    # User 1 alone is in the project, and so sees results.
    world["project_permissions"] = [to_user(id=1)]
    world["meta_data_sources"][0]["owner_user_id"] = None
    world["data_source_permissions"] = [
        grant(1, **results, user_group_id=1),
        grant(2, **results),
        grant(3, **results) | {"user_id": "2"},
    ]
    found = stands_in_for(world, "data_source_permissions", 1)
    assert found == (1, "data_source_permissions 2")


def test_V1_a_right_that_shows_nothing_does_not_keep_a_row_that_has_another():
    # The user is a member of no project, and so sees no results.
    world = edited(owned(), "data_source_permissions", 1, role_name="Viewer")
    world["data_source_permissions"].append(grant(2))
    found = stands_in_for(world, "data_source_permissions", 1)
    assert found == (1, "data_source_permissions 2")


def test_V1_who_should_act_is_the_owner_or_who_administers_the_project():
    found = reviewed(two_ways()).findings("redundant-grant")
    assert {row["who_acts"] for row in found.values()} == {"user 2, the owner"}
    world = edited(owned(), "project_permissions", 1, project_id=1, user_id=2,
                   role_name="Admin")  # fmt: skip
    world = edited(world, "project_permissions", 2, project_id=1, user_id=1)
    world = edited(world, "project_permissions", 3, project_id=1, user_id=1)
    found = reviewed(world).findings("redundant-grant")
    assert {row["who_acts"] for row in found.values()} == {
        "the administrators of the project: user 2"
    }
    (found,) = reviewed(nobody_sees()).findings("data-source-without-owner").values()
    assert found["who_acts"] == "the global administrators"


def test_V1_a_toxic_pair_without_a_reason_names_none():
    for reason in (None, " "):
        found = reviewed(held_five_times(), toxic_pairs=[(*PAIR[0][:3], reason)])
        told = [row["detail"] for row in found.findings("toxic-pair").values()]
        assert told and not any("because" in detail for detail in told)


IMPLICIT = {
    "Data Source": ("Global Admin", "Global Data Source Admin", "Data Source Owner"),
    "Project": ("Global Admin",),
    "Report": ("Global Admin", "Report Owner"),
}
EXPLICIT = {
    "Data Source": "Manage Connections", "Project": "Export", "Report": "Edit Report",
}  # fmt: skip
RIGHT = [
    (kind, EXPLICIT[kind], name, None) for kind, of in IMPLICIT.items() for name in of
]
NAMELESS = [
    (None, "Export", "Import"), ("Project", None, "Export"), ("Project", "Export", " "),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "named"),
    [
        # Whether or not somebody holds them now.
        (RIGHT, []),
        ([("Project", "Export", "Data Source Owner", None)], ["Data Source Owner"]),
        ([("Report", "Global Data Source Admin", "Edit Report", None)],
         ["Global Data Source Admin"]),
        # There are no objects of this type.
        ([("Global", "Global Admin", "Global Data Source Admin", None)],
         ["Global Admin", "Global Data Source Admin"]),
        *(([(*pair, None)], [name for name in pair[1:] if pair[0] is None
                             or name not in ("Export", "Import")])
          for pair in NAMELESS),
    ],
)  # fmt: skip
def test_V1_a_toxic_pair_names_what_somebody_may_hold(pairs, named):
    reviewed = Reviewed(nobody_sees(), toxic_pairs=pairs)
    text = (ROOT / "tests/dbt/assert_toxic_pairs_name_what_is_there.sql").read_text()
    macros = asked_with(reviewed.document, reviewed.day, "{}")
    known = macros._templates["removals_still_there"].globals
    query = ENVIRONMENT.from_string(text, known).render()
    found = reviewed.rows(query)
    told = [(row["permission_name"] or "").strip() for row in found]
    assert sorted(told) == sorted((name or "").strip() for name in named)


# Of a finding: owner, reason, last day; and whether it is excused on 1 July.
EXCUSES = {
    "holds": (("Data Source 1", "Ines", "meant", "2026-07-01"), True),
    "has expired": (("Data Source 1", "Ines", "meant", "2026-06-30"), False),
    "has no owner": (("Data Source 1", " ", "meant", "2026-07-01"), False),
    "has no reason": (("Data Source 1", "Ines", None, "2026-07-01"), False),
    "never expires": (("Data Source 1", "Ines", "meant", None), False),
    "is of another subject": (("Data Source 2", "Ines", "meant", "2027-07-01"), False),
}


@pytest.mark.parametrize(("exception", "is_excused"), EXCUSES.values(), ids=EXCUSES)
def test_V1_an_exception_excuses_a_finding_while_it(exception, is_excused):
    rule = "data-source-without-owner"
    found = reviewed(nobody_sees(), finding_exceptions=[(rule, *exception)])
    (row,) = found.findings(rule).values()
    assert row["is_excused"] is is_excused
    # It excuses nothing of another rule.
    other = [("group-parent-ignored", *exception)]
    (row,) = reviewed(nobody_sees(), finding_exceptions=other).findings(rule).values()
    assert row["is_excused"] is False


def test_V1_severities_are_those_of_the_rules_or_of_the_variable():
    rule = "data-source-without-owner"
    for given, wanted in (({}, "medium"), ({rule: "high"}, "high")):
        settings = {"finding_severities": given}
        found = reviewed(nobody_sees(), settings=settings).findings(rule)
        assert [row["severity"] for row in found.values()] == [wanted]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("high", "finding_severities is 'high'; it must be severities by rule."),
        ({"dormant": "high"}, "finding_severities names the rule 'dormant'; the rules"),
        ({"dormant-admin": "grave"}, "finding_severities says 'grave' of dormant-admin;"
         " it must be high, medium or low."),
    ],
)  # fmt: skip
def test_V1_severities_that_are_none_stop(value, said):
    with pytest.raises(SeverityError, match=said.replace(".", r"\.")):
        Reviewed(nobody_sees(), settings={"finding_severities": value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("dormant_days", 0),
        ("dormant_days", "90"),
        ("global_admins_limit", -1),
        ("review_days", 0),
        ("removal_grace_days", -1),
        ("removal_error_days", 1.5),
        ("review_deciders", []),
        ("review_deciders", "owner"),
        ("review_deciders", ["bo", ""]),
        ("roles_may_be_missing", ["A", {"group": "17"}]),
        ("roles_may_be_missing", [{"group": 17, "name": "A"}]),
    ],
)
def test_V1_thresholds_must_be_what_they_are_for(name, value):
    said = re.escape(f"The variable {name} is {value!r}; it must")
    with pytest.raises(Exception, match=said):
        check_vars(None, {name: value})


def test_V5_R21_people_and_roles_are_named_by_ids_too():
    check_vars(None, {"review_deciders": ["bo", 12, "a@b.org"]})
    check_vars(None, {"roles_may_be_missing": ["A", {"group": 17}]})


@pytest.fixture(scope="module")
def of_the_sample() -> Reviewed:
    """What is found in the sample, as its customer looks at it."""
    return reviewed_sample()


def test_V1_the_sample_has_a_case_of_each_rule(of_the_sample):
    columns = ("rule", "severity", "subject", "detail", "who_acts", "is_excused")
    found = of_the_sample.findings().values()
    told = {tuple(row[column] for column in columns) for row in found}
    assert told == {tuple(row) for row in EXPECTED["access_findings"]}
    assert {row["rule"] for row in found} == set(CASES)


def test_V1_the_page_of_the_sample_counts_its_findings():
    page = (ROOT / "docs/sample-organisation.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\S+)\]\(findings/\S+\) \| (\d+) \|", page, re.M)
    counted = Counter(row[0] for row in EXPECTED["access_findings"])
    assert {rule: int(number) for rule, number in rows} == counted


@pytest.mark.parametrize("rule", sorted(RULES))
def test_V1_every_rule_has_a_page_with_example_reason_and_remedy(rule):
    page = (ROOT / f"docs/findings/{rule}.md").read_text(encoding="utf-8")
    headings = [line for line in page.split("\n") if line.startswith("#")]
    assert headings == [f"# {rule}", "## Example", "## Reason", "## Remedy"]


def test_V1_no_page_is_of_no_rule():
    pages = {path.stem for path in (ROOT / "docs/findings").glob("*.md")}
    assert pages == set(RULES)
    # The one without a case: tests/meaning/test_rights_in_time.py.
    assert {*CASES, "grant-has-run-out"} == set(RULES)


def test_V1_what_is_judged_stands_in_raw_tables():
    assert set(TABLES) >= set(JUDGED)
