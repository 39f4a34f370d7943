"""Decisions of a review that come back: V3, over random worlds in DuckDB, and by case.

`DECISION_WORLDS=300` in the environment looks at 300 worlds instead of 3.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import ClassVar

import pytest
import yaml
from oracle.contract import (
    Rights,
    Staging,
    World,
    user_data_source_access,
    user_project_access,
    user_results_access,
)
from own_config import PRODUCTS, document_of
from projects import ROOT
from random_worlds import random_world
from review_packs import reviewed_sample
from review_sandbox import Reviewed, asked_with
from sample import EXPECTED
from tier_questions import nobody_sees, raw
from why_sandbox import PATH_COLUMNS, access_paths

WORLDS = int(os.environ.get("DECISION_WORLDS", 3))
TODAY, DAYS = date(2026, 7, 1), 100
DS, PROJECT = "Data Source", "Project"
WHAT_IS_SEEN = re.compile(r"v1-[0-9a-f]{32}")
Pair = tuple[str, int, int]


def seen_in(reviewed: Reviewed) -> dict[Pair, str]:
    """Return what the pack says is seen, by object and user."""
    return {
        (row["object_type"], row["object_id"], row["user_id"]): row["seen"]
        for row in reviewed.rows(reviewed.queries()["people"])
    }


def paths_of(staging: Staging) -> dict[Pair, set[tuple]]:
    """Return the ways to what each user sees, by the contract."""
    rights = Rights(staging)
    held = {
        (DS, row["meta_data_source_id"], row["user_id"], name)
        for view, name in (
            (user_data_source_access, "View Metadata"),
            (user_results_access, "View Test Results"),
        )
        for row in view(rights)
    } | {
        (PROJECT, row["project_id"], row["user_id"], "Project Member")
        for row in user_project_access(rights)
    }
    # A right on results shows them in projects, and each of these counts.
    linked: dict[tuple, set[int]] = {}
    for row in user_results_access(rights):
        key = (DS, row["meta_data_source_id"], row["user_id"], "View Test Results")
        linked.setdefault(key, set()).add(row["project_id"])
    found: dict[Pair, set[tuple]] = {}
    for row in access_paths(staging):
        path = dict(zip(PATH_COLUMNS, row, strict=True))
        pair = (path["object_type"], path["object_id"], path["user_id"])
        if (*pair, path["permission_name"]) in held:
            way = (
                *(path[c] for c in ("permission_name", "path_kind", "role_name")),
                *(path[c] for c in ("grant_table", "grant_id")),
                path["user_group_member_id"],
                tuple(path["group_ids"] or ()),
                frozenset(linked.get((*pair, path["permission_name"]), ())),
            )
            found.setdefault(pair, set()).add(way)
    return found


@pytest.mark.parametrize("seed", range(WORLDS))
def test_V3_what_is_seen_is_the_same_exactly_where_the_paths_are(seed):
    world = random_world(seed)
    chance = random.Random(seed)
    less = {
        table: [row for row in rows if table in ("users", "projects")
                or chance.random() > 0.1]
        for table, rows in world.items()
    }  # fmt: skip
    before, after = Reviewed(world), Reviewed(less)
    seen, paths = ([f(x) for x in (before, after)] for f in (seen_in, of_staging))
    for said, told in zip(seen, paths, strict=True):
        assert set(said) == set(told)
        assert all(WHAT_IS_SEEN.fullmatch(text) for text in said.values())
        # Of two users, or of two objects, nothing is the same.
        assert len(set(said.values())) == len(said)
    for pair in set(seen[0]) & set(seen[1]):
        is_same = paths[0][pair] == paths[1][pair]
        assert (seen[0][pair] == seen[1][pair]) is is_same, pair


def of_staging(reviewed: Reviewed) -> dict[Pair, set[tuple]]:
    """Return the ways in a reviewed world."""
    return paths_of(reviewed.staging)


# -- Where access stands: the law ------------------------------------------------------


def random_decisions(
    seen: dict[Pair, str], staging: Staging, chance: random.Random
) -> Iterator[tuple]:
    """Yield decisions as people might take them, and as they might come back."""
    pairs, users = sorted(seen), sorted(staging.winners["users"])
    for pair in chance.sample(pairs, min(len(pairs) * 3 // 4, 40)):
        kind, key, user = pair
        for _ in range(chance.choice((1, 1, 2, 3))):
            ago = timedelta(chance.choice((0, 1, 99, 100, 101, 300, 400)))
            yield (
                *(kind, str(key), str(user)),
                seen[pair] if chance.random() < 0.7 else seen[chance.choice(pairs)],
                chance.choice(("keep", "keep", "Keep ", "remove", "REMOVE")),
                name_of(
                    user if chance.random() < 0.1 else chance.choice(users), staging
                ),
                str(TODAY - ago),
            )
        if chance.random() < 0.15:
            wrong = [kind, str(key), str(user), seen[pair], "keep", "1", str(TODAY)]
            wrong[chance.randrange(3, 7)] = chance.choice((None, "?", "2026-02-30"))
            yield tuple(wrong)


def name_of(user: int, staging: Staging) -> str:
    """Return what a user is called, one in two times by id."""
    row, number = staging.winners["users"][user], sum(map(ord, str(user)))
    names = [str(user), row["login_name"], str(user), row["email"]]
    return names[number % 4] or str(user)


def judged(row: tuple, rows: list[tuple], staging: Staging) -> str:
    """Say what is to be thought of a decision, independently of the model."""
    verdict = alone(row, staging)
    # What counts for nothing contradicts nothing.
    words = {
        word(other[4])
        for other in rows
        if (*other[:3], other[6]) == (*row[:3], row[6])
        and alone(other, staging) == "counts"
    }
    return "unreadable" if verdict == "counts" and len(words) > 1 else verdict


def alone(row: tuple, staging: Staging) -> str:
    """Say what is to be thought of a decision, were there no other."""
    *_, user, seen, decision, by, on = row
    named = called(by, staging)
    try:
        day = date.fromisoformat(on or "")
    except ValueError:
        return "unreadable"
    if (
        not WHAT_IS_SEEN.fullmatch(seen or "")
        or word(decision) not in ("keep", "remove")
        or day > TODAY
        or not named
    ):
        return "unreadable"
    is_live = min(named) in staging.live("users")
    return "counts" if is_live and int(user) not in named else "void"


def called(by: str | None, staging: Staging) -> set[int]:
    """Return who is called so: by id, else who is live, by login, else by e-mail."""
    users, live = staging.winners["users"], set(staging.live("users"))
    bearers = [
        {
            key
            for key, name in names.items()
            if name and name.lower() == (by or "").lower()
        }
        for names in (
            {key: row["login_name"] for key, row in users.items()},
            {key: row["email"] for key, row in users.items()},
        )
    ]
    by_id = {key for key in users if str(key) == by}
    found = [by_id & live, by_id, *(each & live for each in bearers), *bearers]
    return next(filter(None, found), set())


def word(decision: str | None) -> str:
    """Return a decision as it is meant."""
    return (decision or "").strip().lower()


def standing(rows: list[tuple], now: str, staging: Staging) -> tuple[str, date | None]:
    """Say where access stands by the decisions about it, as the pages tell it."""
    if not rows:
        return "never reviewed", None
    verdicts = [(judged(row, rows, staging), row) for row in rows]
    kept = [r for v, r in verdicts if v == "counts" and word(r[4]) == "keep"]
    removed = [r for v, r in verdicts if v != "unreadable" and word(r[4]) == "remove"]
    newest = max((row[6] for row in kept), default="")
    if removed and max(row[6] for row in removed) >= newest:
        return "to be removed", None
    if any(verdict == "unreadable" for verdict, _ in verdicts):
        return "unreadable", None
    if not kept:
        return "void", None
    if now not in {row[3] for row in kept if row[6] == newest}:
        return "new since", None
    until = date.fromisoformat(newest) + timedelta(DAYS)
    return ("overdue" if until < TODAY else "certified"), until


@pytest.mark.parametrize("seed", range(WORLDS))
def test_V3_a_certificate_is_of_what_was_seen_and_for_as_long_as_it_lasts(seed):
    world, chance = random_world(seed), random.Random(seed)
    seen = seen_in(first := Reviewed(world))
    decisions = list(random_decisions(seen, first.staging, chance))
    reviewed = Reviewed(world, review_decisions=decisions)
    staging = reviewed.staging
    about: dict[Pair, list[tuple]] = {}
    for row in decisions:
        about.setdefault((row[0], int(row[1]), int(row[2])), []).append(row)
    wanted = {
        pair: standing(about.get(pair, []), now, staging) for pair, now in seen.items()
    }
    told = {
        (row["object_type"], row["object_id"], row["user_id"]): (
            row["status"],
            row["certified_until"] and date.fromisoformat(row["certified_until"]),
        )
        for row in reviewed.rows("select * from review_status")
    }
    assert told == wanted
    # Something was decided, and something was not.
    assert len({status for status, _ in told.values()}) > 2 or len(told) < 10
    removed = {
        (row["object_type"], row["object_id"], row["user_id"])
        for row in reviewed.findings("removed-and-still-there").values()
    }
    assert removed == {p for p, (s, _) in wanted.items() if s == "to be removed"}
    verdicts = {
        row["as_delivered"]: row["verdict"]
        for row in reviewed.rows("select * from judged_decisions")
    }
    assert len(verdicts) == len(set(decisions))
    counted = [judged(row, about_of(row, about), staging) for row in set(decisions)]
    assert sorted(verdicts.values()) == sorted(counted)


def about_of(row: tuple, about: dict[Pair, list[tuple]]) -> list[tuple]:
    """Return the decisions about what one is about."""
    return about[row[0], int(row[1]), int(row[2])]


# -- By case ---------------------------------------------------------------------------


def small() -> World:
    """User 1 may see what 2 owns; 3 has left; 4 and 5 share an address."""
    world = nobody_sees()
    world["users"] = [
        raw("users", id=1, login_name="ann"),
        raw("users", id=2, login_name="Bo", email="bo@example.com"),
        raw(
            "users",
            id=3,
            login_name="cy",
            first_name="Cy",
            last_name="Cole",
            is_active="false",
        ),
        raw("users", id=4, login_name="di", email="both@example.com"),
        raw("users", id=5, login_name="=ed", email="both@example.com"),
    ]
    world["meta_data_sources"][0]["owner_user_id"] = "2"
    world["data_source_permissions"] = [
        raw("data_source_permissions", id=1, meta_data_source_id=1, user_id=1,
            role_name="ViewMetadata")
    ]  # fmt: skip
    return world


@pytest.fixture(scope="module")
def now() -> str:
    """What is seen of user 1 on data source 1."""
    return seen_in(Reviewed(small()))[DS, 1, 1]


def decided(now: str, **values: object) -> tuple:
    """Return a decision to keep what is seen, with some values changed."""
    row = {
        "object_type": DS, "object_id": "1", "user_id": "1", "seen": now,
        "decision": "keep", "decided_by": "bo", "decided_on": "2026-06-01",
    }  # fmt: skip
    return tuple((row | values).values())


def stands(*decisions: tuple, world: World | None = None) -> dict:
    """Return where the access of user 1 stands."""
    reviewed = Reviewed(world or small(), review_decisions=list(decisions))
    (row,) = reviewed.rows("select * from review_status where user_id = 1")
    return row


UNREADABLE = {
    "the decision is neither keep nor remove": {"decision": "maybe"},
    "the day is not written like 2026-07-01": {"decided_on": "01.06.2026"},
    "the day is in the future": {"decided_on": "2026-07-02"},
    "no user has the id": {"user_id": "77"},
    "nothing of this type has the id": {"object_id": "77"},
    "the object type is neither Data Source nor Project": {"object_type": "Report"},
    "what was seen is not as a table of a review has it": {"seen": "v1-1"},
    "nobody is called as who decided": {"decided_by": "bob"},
}


NOTHING = {
    problem: dict.fromkeys(values)
    for problem, values in UNREADABLE.items()
    if "future" not in problem
}


@pytest.mark.parametrize(("problem", "values"), [*UNREADABLE.items(), *NOTHING.items()])
def test_V3_a_decision_that_cannot_be_read_certifies_nothing_and_is_named(
    problem, values, now
):
    rows = [decided(now), decided(now, **values)]
    reviewed = Reviewed(small(), review_decisions=rows)
    found = reviewed.rows("select * from judged_decisions where verdict != 'counts'")
    assert [(row["verdict"], row["problem"]) for row in found] == [
        ("unreadable", problem)
    ]
    # Where it says whose access to what it is about, the older one is not enough.
    (status,) = reviewed.rows("select * from review_status where user_id = 1")
    is_about_it = not set(values) & {"user_id", "object_id", "object_type"}
    assert status["status"] == ("unreadable" if is_about_it else "certified")
    assert (status["certified_until"] is None) is is_about_it


IMPOSTORS = {
    "a login that is another's id": {"login_name": "2"},
    "a login that is another's e-mail address": {"login_name": "bo@example.com"},
    "an e-mail address that is another's id": {"email": "2"},
    "an e-mail address that is another's login": {"email": "BO"},
    "another's e-mail address": {"email": "bo@example.com"},
    "another's login": {"login_name": "bo"},
    "another's login, and is not live": {"login_name": "bo", "is_active": "false"},
    "a login that is another's e-mail address, and is not live": {
        "login_name": "bo@example.com", "is_active": "false",
    },
}  # fmt: skip


@pytest.mark.parametrize("values", IMPOSTORS.values(), ids=IMPOSTORS)
@pytest.mark.parametrize("by", ["2", "bo", "Bo@example.com"])
@pytest.mark.parametrize("decision", ["keep", "remove"])
def test_V5_no_row_of_another_person_takes_a_decision_away_who_has(
    values, by, decision, now
):
    world, row = small(), decided(now, decided_by=by, decision=decision)
    world["users"].append(raw("users", id=6, **{"login_name": "fy"} | values))
    reviewed = Reviewed(world, review_decisions=[row])
    (found,) = reviewed.rows("from judged_decisions")
    login_before_address = (
        by.lower() == "bo@example.com" == values.get("login_name")
        and "is_active" not in values
    )
    assert found["verdict"] == "counts", found["problem"]
    assert found["decided_by_user_id"] == (6 if login_before_address else 2)
    (status,) = reviewed.rows("select * from review_status where user_id = 1")
    assert status["status"] == ("certified" if decision == "keep" else "to be removed")


@pytest.mark.parametrize("values", IMPOSTORS.values(), ids=IMPOSTORS)
@pytest.mark.parametrize("by", ["2", "bo", "Bo@example.com"])
@pytest.mark.parametrize("impostor", [0, 6])
def test_V5_a_name_that_several_have_is_of_who_may_decide(values, by, impostor, now):
    world, row = small(), decided(now, decided_by=by)
    world["users"].append(raw("users", id=impostor, **{"login_name": "fy"} | values))
    for deciders in ("in charge", ["2"]):
        settings = {"review_deciders": deciders}
        reviewed = Reviewed(world, settings=settings, review_decisions=[row])
        (found,) = reviewed.rows("from judged_decisions")
        assert (found["verdict"], found["decided_by_user_id"]) == ("counts", 2)


def test_V5_who_is_live_goes_before_who_is_not_and_the_id_before_all(now):
    world = small()
    # Cy, who has left, has the login 2, and Bo the login 3, which is Cy's id.
    world["users"][2]["login_name"] = "bo"
    by_login = Reviewed(world, review_decisions=[decided(now, decided_by="BO")])
    assert by_login.rows("from judged_decisions")[0]["decided_by_user_id"] == 2
    world["users"][1]["login_name"] = "3"
    by_id = Reviewed(world, review_decisions=[decided(now, decided_by="3")])
    (found,) = by_id.rows("from judged_decisions")
    assert (found["decided_by_user_id"], found["verdict"]) == (3, "void")


def test_V5_who_shares_a_name_with_others_keeps_nothing_of_their_own(now):
    world = small()
    world["users"][0]["email"] = "both@example.com"
    kept = Reviewed(
        world, review_decisions=[decided(now, decided_by="both@example.com")]
    )
    (found,) = kept.rows("from judged_decisions")
    assert found["verdict"] == "void"
    assert found["problem"] == "decided by the person whose access it is"


def test_V5_who_shares_a_name_with_an_older_user_keeps_nothing_of_their_own():
    world = small()
    world["data_source_permissions"].append(
        raw("data_source_permissions", id=2, meta_data_source_id=1, user_id=5,
            role_name="ViewMetadata")
    )  # fmt: skip
    seen = seen_in(Reviewed(world))[DS, 1, 5]
    row = decided(seen, user_id="5", decided_by="both@example.com")
    (found,) = Reviewed(world, review_decisions=[row]).rows("from judged_decisions")
    assert found["verdict"] == "void"
    assert found["problem"] == "decided by the person whose access it is"


def test_V3_what_only_a_void_decision_of_the_day_saw_is_not_certified(now):
    before = f"v1-{'0' * 32}"
    rows = [decided(now, seen=before), decided(now, decided_by="ann")]
    assert stands(*rows)["status"] == "new since"


DECIDERS = {
    "anybody": {"bo": True, "di": True, "4": True},
    "in charge": {"bo": True, "di": False, "7": True},
    ("BO ", "4", "nobody"): {"bo": True, "di": True, "5": False, "7": False},
    (4,): {"bo": False, "4": True},
}


@pytest.mark.parametrize("deciders", DECIDERS)
def test_V5_only_who_may_decide_certifies_and_the_others_are_a_finding(deciders, now):
    world = small()
    world["users"].append(raw("users", id=7, login_name="ida", first_name="Ida"))
    world["user_global_roles"] = [
        raw("user_global_roles", id=1, user_id=7, role_name="Global.Admin")
    ]
    listed = deciders if isinstance(deciders, str) else list(deciders)
    settings = {"review_deciders": listed}
    for by, may_decide in DECIDERS[deciders].items():
        made = Reviewed(
            world, settings=settings, review_decisions=[decided(now, decided_by=by)]
        )
        (status,) = made.rows("select * from review_status where user_id = 1")
        found = list(made.findings("void-decision").values())
        assert status["status"] == ("certified" if may_decide else "void"), by
        assert len(found) == (not may_decide)
        if found and listed == "in charge":
            assert found[0]["detail"] == (
                "keep was decided by user 4 (di), who is neither in charge of it nor a"
                " global administrator"
            )
        elif found:
            assert found[0]["detail"].endswith(", who is not among review_deciders")
        # A removal stands, whoever decided.
        removed = decided(now, decided_by=by, decision="remove")
        made = Reviewed(world, settings=settings, review_decisions=[removed])
        (status,) = made.rows("select * from review_status where user_id = 1")
        assert status["status"] == "to be removed"


@pytest.mark.parametrize(
    ("values", "called"),
    [
        ({}, "Bo (2)"),
        ({"first_name": "Bo", "last_name": "Berg"}, "Bo Berg (Bo)"),
        ({"login_name": ""}, "bo@example.com (2)"),
        ({"login_name": "", "email": ""}, "user 2"),
        ({"login_name": "user 3", "email": ""}, "user 3 (2)"),
    ],
)
def test_V2_who_is_in_charge_is_told_by_name_login_address_or_id(values, called):
    world = small()
    world["users"][1] |= values
    reviewed = Reviewed(world)
    objects = reviewed.rows(reviewed.queries()["objects"])
    named = {
        (row["object_type"], row["object_id"]): row["in_charge"] for row in objects
    }
    assert named[DS, 1] == called


def test_V5_an_administrator_of_a_project_is_in_charge_of_it(now):
    world = small()
    world["project_permissions"] = [
        raw("project_permissions", id=1, project_id=1, user_id=1),
        raw("project_permissions", id=2, project_id=1, user_id=4, role_name="Admin"),
    ]
    settings = {"review_deciders": "in charge"}
    seen = seen_in(Reviewed(world))[PROJECT, 1, 1]
    about = {"object_type": PROJECT, "seen": seen}
    for by, verdict in (("di", "counts"), ("bo", "void")):
        row = decided(now, **about, decided_by=by)
        made = Reviewed(world, settings=settings, review_decisions=[row])
        assert made.rows("from judged_decisions")[0]["verdict"] == verdict


def test_V3_two_decisions_of_a_day_that_contradict_each_other_certify_nothing(now):
    rows = [decided(now), decided(now, decision="remove")]
    reviewed = Reviewed(small(), review_decisions=rows)
    problems = {row["problem"] for row in reviewed.rows("from judged_decisions")}
    assert problems == {"keep and remove were decided on one day"}
    assert stands(*rows)["status"] == "unreadable"
    # On the next day, they don't.
    later = decided(now, decided_on="2026-06-02")
    assert stands(rows[1], later)["status"] == "certified"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ({"decided_by": "ann"}, "void"),
        ({"decided_by": "cy"}, "void"),
        ({"decided_by": "ghost"}, "unreadable"),
        ({"seen": "garbage"}, "unreadable"),
    ],
)
def test_V3_what_counts_for_nothing_takes_no_decision_of_the_day_away(
    values, verdict, now
):
    nothing, remove = decided(now, **values), decided(now, decision="remove")
    assert stands(remove, nothing)["status"] == "to be removed"
    reviewed = Reviewed(small(), review_decisions=[remove, nothing])
    assert list(reviewed.findings("removed-and-still-there")) == [
        "user 1 on Data Source 1"
    ]
    verdicts = {row["decision"]: row for row in reviewed.rows("from judged_decisions")}
    assert verdicts["remove"]["verdict"] == "counts"
    assert verdicts["keep"]["verdict"] == verdict
    assert "one day" not in verdicts["keep"]["problem"]


@pytest.mark.parametrize("by", ["ann", "cy"])
def test_V3_a_void_removal_stands_beside_a_keep_of_the_day(by, now):
    rows = [decided(now), decided(now, decision="remove", decided_by=by)]
    assert stands(*rows)["status"] == "to be removed"


@pytest.mark.parametrize(
    ("on", "status"),
    [("2026-03-23", "certified"), ("2026-03-22", "overdue")],
)
def test_V3_a_certificate_runs_out_after_review_days(now, on, status):
    row = stands(decided(now, decided_on=on))
    assert row["status"] == status
    until = date.fromisoformat(on) + timedelta(DAYS)
    assert row["certified_until"] == str(until)


@pytest.mark.parametrize(
    ("on", "warns", "fails"),
    [
        ("2026-07-01", False, False), ("2026-06-24", False, False),
        ("2026-06-23", True, False), ("2026-06-01", True, False),
        ("2026-05-31", False, True), ("2025-05-31", False, True),
    ],
)  # fmt: skip
def test_V3_a_removal_that_is_not_carried_out_warns_and_then_fails(
    now, on, warns, fails
):
    removed = decided(now, decision="remove", decided_on=on, decided_by="di")
    # A second decision begins no new time, and neither does a void one.
    again = decided(now, decision="remove", decided_on="2026-07-01")
    for decisions in ([removed], [removed, again]):
        assert told_of_removals(decisions) == (warns, fails)
    # A keep after it takes it back, and the time begins with the next removal.
    if on < "2026-06-23":
        kept = decided(now, decided_on="2026-06-23")
        assert told_of_removals([removed, kept]) == (False, False)
        assert told_of_removals([removed, kept, again]) == (False, False)
    excused = ("removed-and-still-there", "user 1 on Data Source 1", "Bo", "soon",
               "2026-07-01")  # fmt: skip
    assert told_of_removals([removed], finding_exceptions=[excused]) == (False, False)


def told_of_removals(decisions: list[tuple], **seeds: list[tuple]) -> tuple[bool, bool]:
    """Say whether `dbt test` warns of a removal of user 1, and whether it fails."""
    reviewed = Reviewed(small(), review_decisions=decisions, **seeds)
    asked = asked_with(reviewed.document, reviewed.day, "{}")
    days = yaml.safe_load((ROOT / "dbt_project.yml").read_text())["vars"]
    grace, error = days["removal_grace_days"], days["removal_error_days"]
    warned = reviewed.rows(asked.removals_still_there(grace, until=error))
    failed = reviewed.rows(asked.removals_still_there(error))
    for row in (*warned, *failed):
        assert row["subject"] == "user 1 on Data Source 1"
    return bool(warned), bool(failed)


def test_V3_access_that_came_another_way_since_is_not_certified(now):
    world = small()
    world["data_source_permissions"][0]["id"] = "2"
    assert stands(decided(now), world=world)["status"] == "new since"
    # Another way beside it is another access, too; a new name is not.
    world = small()
    world["data_source_permissions"].append(
        raw("data_source_permissions", id=2, meta_data_source_id=1, user_id=1,
            role_name="Viewer")
    )  # fmt: skip
    assert stands(decided(now), world=world)["status"] == "new since"
    world = small()
    world["users"][0]["last_name"] = world["meta_data_sources"][0]["name"] = "new"
    assert stands(decided(now), world=world)["status"] == "certified"


def test_V3_results_that_show_in_another_project_are_not_certified():
    world = small()
    world["data_source_permissions"][0]["role_name"] = "ViewTestResults"
    world["projects"].append(raw("projects", id=2, name="Close"))
    world["project_permissions"] = [
        raw("project_permissions", id=key, project_id=key, user_id=1) for key in (1, 2)
    ]
    seen = seen_in(Reviewed(world))
    rows = [
        decided(seen[kind, key, 1], object_type=kind, object_id=str(key))
        for kind, key in ((DS, 1), (PROJECT, 1), (PROJECT, 2))
    ]
    order = (
        "select object_type, object_id, status from review_status"
        " where user_id = 1 order by all"
    )
    before = Reviewed(world, review_decisions=rows).rows(order)
    assert [row["status"] for row in before] == ["certified"] * 3
    world["project_data_sources"].append(
        raw("project_data_sources", id=2, project_id=2, meta_data_source_id=1)
    )
    after = Reviewed(world, review_decisions=rows).rows(order)
    statuses = [row["status"] for row in after]
    assert statuses == ["new since", "certified", "certified"]


class Regional(Reviewed):
    """A world with a tier of a customer's own: no tier is about a region alone."""

    shown: ClassVar[list[tuple]] = []

    def published(self) -> None:
        super().published()
        columns = dict.fromkeys(("meta_data_source_id", "region_id", "user_id"))
        types = dict.fromkeys(columns, "BIGINT")
        self.database.table("vw_regional", tuple(columns), self.shown, types)


def test_V3_what_a_tier_of_ones_own_shows_in_another_object_is_not_certified():
    config = yaml.safe_load(document_of(PRODUCTS))
    config["tiers"]["regional"] = {
        "access_view": "vw_regional", "carries": [],
        "object_keys": ["meta_data_source_id", "region_id"],
        "right": {"object_type": DS, "permission": "Run Tests",
                  "key": "meta_data_source_id"},
    }  # fmt: skip
    document = yaml.safe_dump(config, sort_keys=False)
    world = small()
    world["data_source_permissions"][0]["role_name"] = "RunTests"

    def shown(*regions: int, **given: list[tuple]) -> Reviewed:
        Regional.shown = [(1, region, 1) for region in regions]
        return Regional(world, document=document, **given)

    before = shown(7)
    people = before.queries()["people"]
    (row,) = (r for r in before.rows(people) if r["user_id"] == 1)
    assert row["ways"][0]["way"].startswith("Run Tests in region_id 7: User")
    told = {
        regions: shown(*regions, review_decisions=[decided(row["seen"])]).rows(
            "select status from review_status where user_id = 1"
        )[0]["status"]
        for regions in ((7,), (8,), (7, 8))
    }
    assert told == {(7,): "certified", (8,): "new since", (7, 8): "new since"}


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("1", "keep was decided by the person whose access it is"),
        ("ANN", "keep was decided by the person whose access it is"),
        ("cy", "keep was decided by user 3 (Cy Cole), who is not live"),
    ],
)
def test_V3_a_decision_of_the_user_or_of_who_is_not_live_is_a_finding(by, said, now):
    row = decided(now, decided_by=by)
    assert stands(row)["status"] == "void"
    found = Reviewed(small(), review_decisions=[row]).findings("void-decision")
    assert [finding["detail"] for finding in found.values()] == [said]
    # It takes nothing from one that counts, and is settled by a later one.
    older = decided(now, decided_on="2026-05-31")
    assert stands(row, older)["certified_until"] == "2026-09-08"
    later = decided(now, decided_on="2026-06-02")
    settled = Reviewed(small(), review_decisions=[row, later])
    assert settled.findings("void-decision") == {}


@pytest.mark.parametrize("by", ["bo", "ann", "cy"])
def test_V3_what_was_removed_and_is_there_is_a_finding_whoever_decided(by, now):
    older = decided(now, decided_on="2026-05-01")
    row = decided(now, decision="remove", decided_by=by)
    reviewed = Reviewed(small(), review_decisions=[older, row])
    (found,) = reviewed.findings("removed-and-still-there").values()
    assert found["subject"] == "user 1 on Data Source 1"
    who = {"bo": "user 2 (Bo)", "ann": "user 1 (ann)", "cy": "user 3 (Cy Cole)"}[by]
    assert found["detail"] == (
        f"{who} decided on 2026-06-01 to remove it; the access is there by the same"
        " ways as then"
    )
    # What has come another way is still there; what is gone is not.
    world = small()
    world["data_source_permissions"][0]["id"] = "2"
    (found,) = (
        Reviewed(world, review_decisions=[row])
        .findings("removed-and-still-there")
        .values()
    )
    assert found["detail"].endswith("by other ways than then")
    world["data_source_permissions"] = []
    gone = Reviewed(world, review_decisions=[row])
    assert gone.findings("removed-and-still-there") == {}
    # A later decision to keep counts, one of the user does not.
    later = decided(now, decided_on="2026-06-02")
    assert stands(row, later)["status"] == "certified"
    own = decided(now, decided_on="2026-06-02", decided_by="ann")
    assert stands(row, own)["status"] == "to be removed"


def test_V3_a_name_that_spreadsheets_compute_is_a_name(now):
    assert stands(decided(now, decided_by="=ed"))["decided_by_user_id"] == 5


def test_V3_the_sample_has_a_case_of_each_status():
    found = reviewed_sample().rows("select * from review_status")
    told = sorted(
        tuple(row[c] for c in ("user_id", "object_type", "object_id", "status",
                               "certified_until"))
        for row in found if row["status"] != "never reviewed"
    )  # fmt: skip
    assert told == [tuple(row) for row in EXPECTED["review_status"]]
    statuses = {row["status"] for row in found}
    # An unreadable one fails `dbt test`, and the sample's does not.
    assert statuses == {
        *("certified", "overdue", "new since", "to be removed", "void"),
        "never reviewed",
    }
