"""A timeline tells when access to what began and ended, and by which rows."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError
from oracle.contract import (
    BIGINT,
    TABLES,
    AccessChange,
    AccessState,
    RawRow,
    World,
    access_state,
    load_time,
    loaded_until,
    loads,
    read_value,
    timeline,
)
from pipeline import SESSIONS, Pipeline, of_the_world, session_settings
from random_worlds import random_world
from tier_questions import nobody_sees, to_user
from timelines import FIRST_NIGHT, NIGHTS, TIERS, as_known, in_nights
from why_sandbox import repository_tables
from worlds import batch, moved, without_power

from dbt_secure_spark.session import with_settings
from secure_datasets.questions.timeline import access_timelines, answers, text
from secure_datasets.questions.timeline.changes import (
    BEGINNING,
    GIVES,
    TAKES,
    Evidence,
    Way,
    moment_text,
    parts_of,
)
from secure_datasets.questions.timeline.days import access_on, micros_of
from secure_datasets.questions.timeline.models import (
    OWN_REF,
    NotToldError,
    models_needed,
)
from secure_datasets.questions.timeline.questions import types_not_told
from secure_datasets.questions.timeline.selection import (
    GROUPS,
    PARENT,
    USERS,
    Delivery,
    Selection,
    Table,
    Wanted,
    reached,
)

# On so many random worlds, where they are asked for; and so many of them at once.
MORE = int(os.environ.get("TIMELINE_WORLDS", 0))
AT_ONCE = 5
ALL = 10**6
# The raw tables that these read.
DECIDING = (
    *("users", "user_global_roles", "user_groups", "user_group_members"),
    *("meta_data_sources", "data_source_permissions", "projects"),
    *("project_permissions", "project_data_sources", "reports", "report_permissions"),
)


@cache
def world_of_nights() -> World:
    """Random worlds, loaded in a few nights."""
    return in_nights(batch(range(700, 700 + (MORE or 4))))


@pytest.fixture(scope="module")
def parts(dbt, parsed) -> dict[str, Any]:
    return parts_with(dbt, parsed, feeds={})


def parts_with(dbt, parsed, feeds: dict) -> dict[str, Any]:
    """Return what the macros tell a timeline, of a world's raw tables."""
    # A compiled text may read what it has named while it was parsed.
    inline = (
        "{%- set _ = ref('role_permissions') -%}"
        "{%- for name in secure_datasets.repository_tables() -%}"
        "{%- set _ = [ref(name), source('repository', name)] -%}{%- endfor -%}"
        "{%- if execute -%}"
        "{{ tojson(secure_datasets.timeline_parts(adapter.access_timelines())) }}"
        "{%- endif -%}"
    )
    options = ["--quiet", "--no-populate-cache", "--no-introspect"]
    # It is of the root project, which has no word on the product's variables.
    variables = {"sample_schema": "repository_sample", "absent_tables": []}
    variables |= {"feeds": feeds}
    options += ["--vars", json.dumps(variables)]
    result = dbt("compile", *options, "--inline", inline, manifest=parsed)
    assert result.success, result.exception
    (compiled,) = result.result
    found = json.loads(compiled.node.compiled_code)
    found["seeds"] = {name: f"world_{name}" for name in found["seeds"]}
    found["queries"] = {
        table: {name: of_the_world(sql) for name, sql in of_table.items()}
        for table, of_table in found["queries"].items()
    }
    return found | {"raw_tables": repository_tables()}


class Asked:
    """The timelines of a world."""

    def __init__(self, spark, parts, world: World) -> None:
        Pipeline(spark, []).load(world)
        self.spark, self.parts = spark, parts

    def of(self, **question: str) -> dict[AccessChange, set]:
        """Return the timeline of a user or an object."""
        ((kind, asked),) = question.items()
        question = {"kind": kind, "asked": asked, "limit": ALL}
        return as_known(answers.answer(self.spark, question, self.parts)["changes"])

    def whole(self) -> dict[AccessChange, set]:
        """Return the timeline of everybody, from all rows."""
        raw_tables = self.parts["raw_tables"]
        tables = answers.tables_of(raw_tables, self.parts["staged"])
        with with_settings(self.spark, answers.SETTINGS):
            replica = answers.Replica(self.spark, self.parts["queries"], tables)
            rows: dict[str, set[int]] = {}
            for each in replica.lookup([Wanted(tuple(tables))]):
                rows.setdefault(each.table, set()).add(each.id)
            everybody = {USERS: rows[USERS]}
            found = answers.told(replica, rows, self.parts, everybody, ALL)
        return as_known(found["changes"])


def summed(found: Iterable[AccessChange], until: datetime | None) -> AccessState:
    """Return the state that changes until a load add up to."""
    state: AccessState = {}
    for change in sorted(found, key=lambda c: (c.at is not None, c.at or datetime.min)):
        if change.at is not None and (until is None or change.at > until):
            continue
        state.pop(change.key, None)
        if change.has:
            state[change.key] = change.access_type
    return state


# ---------------------------------------------------------------------------
# The law
# ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(spark, parts) -> dict[AccessChange, set]:
    """The timeline of everybody in the worlds that were loaded in a few nights."""
    zone, ansi = SESSIONS[0]
    with session_settings(spark, zone, ansi):
        return Asked(spark, parts, world_of_nights()).whole()


@pytest.mark.nightly
@pytest.mark.spark
def test_T4_the_sum_of_the_changes_until_a_load_is_the_state_as_of_it(whole):
    world = world_of_nights()
    moments = loads(world)
    assert len(moments) == NIGHTS + 1
    states = [access_state(loaded_until(world, moment)) for moment in moments]
    for moment, state in zip(moments, states, strict=True):
        assert summed(whole, moment) == state, moment
    assert len(states[-1]) > 200
    # And nothing is told that was no change.
    assert {*whole} == {*timeline(world)}
    kinds = {(change.key[0], change.had, change.has) for change in whole}
    for tier in TIERS:
        assert {(tier, False, True), (tier, True, False)} < kinds
    assert {("data_source", True, True), ("project", True, True)} < kinds


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize("first", range(0, MORE or 1, AT_ONCE))
def test_T4_every_load_time_of_a_world_counts_whatever_the_session(spark, parts, first):
    seeds = range(726 + first, 726 + min(first + AT_ONCE, MORE or 1))
    worlds = [random_world(seed) for seed in seeds]
    if len(worlds) > 1:
        # Each is told by itself: they don't meet, and power reaches the objects of all.
        worlds = [without_power(moved(w, place)) for place, w in enumerate(worlds, 1)]
    assert MORE or all(len(loads(world)) > 100 for world in worlds)
    together = {table: [r for w in worlds for r in w[table]] for table in worlds[0]}
    zone, ansi = SESSIONS[(1 + first // AT_ONCE) % len(SESSIONS)]
    with session_settings(spark, zone, ansi):
        found = Asked(spark, parts, together).whole()
    assert {*found} == {change for world in worlds for change in timeline(world)}


def is_of(row: RawRow, table: str, rows: set) -> bool:
    """Say whether a delivery is of one of the rows, by table and id."""
    return (table, read_value(BIGINT, row["id"])) in rows


def state_with(world: World, moment, rows: set, kept: bool) -> AccessState:
    """Return the state as of a load that brought only these rows, or all others."""
    loaded = {
        table: [
            row
            for row in there
            if load_time(row) != moment or is_of(row, table, rows) == kept
        ]
        for table, there in loaded_until(world, moment).items()
    }
    return access_state(loaded)


@pytest.mark.nightly
@pytest.mark.spark
def test_T4_the_rows_of_a_change_make_it_and_without_them_it_is_not_made(whole):
    world, found = world_of_nights(), whole
    dated = [change for change in found if change.at]
    chosen = random.Random(0).sample(sorted(dated, key=str), 60)
    # Such as are made by several rows at once.
    chosen += [change for change in dated if len(found[change]) > 2][:20]
    several = 0
    for change in chosen:
        rows = {(table, raw_id) for table, raw_id, _ in found[change]}
        assert rows, change
        several += len(rows) > 1
        alone = state_with(world, change.at, rows, kept=True)
        has = change.key in alone
        assert (has, alone.get(change.key)) == (change.has, change.access_type)
        without = state_with(world, change.at, rows, kept=False)
        # Other rows of that load may give another type, where this one took all.
        assert (change.key in without) == change.had, (change, rows)
        if change.had and change.has:
            assert without[change.key] == change.access_type_before, (change, rows)
        effects = {effect for *_, effect in found[change]}
        if change.had != change.has:
            assert effects == {GIVES if change.has else TAKES}
    assert several > 15


@pytest.mark.nightly
@pytest.mark.spark
def test_T4_asked_for_one_user_or_object_it_is_that_part_of_all(spark, parts, whole):
    asked = Asked(spark, parts, world_of_nights())
    # Which rows are needed is tried without Spark, below.
    for kind, place, name in (("user", 1, "{}"), ("object", 2, "Data Source {}")):
        ids = sorted({c.key[place] for c in whole if c.key[place] is not None})
        chosen = random.Random(1).choice(ids)
        part = {c: rows for c, rows in whole.items() if c.key[place] == chosen}
        assert asked.of(**{kind: name.format(chosen)}) == part, (kind, chosen)


# ---------------------------------------------------------------------------
# How much access there was on some days
# ---------------------------------------------------------------------------


@pytest.mark.spark
@pytest.mark.nightly
def test_F8_access_that_ends_by_a_deletion_is_told_so(spark, dbt, parsed):
    feed = {"kind": "log", "moment": "sf_date_created"}
    feed |= {"deleted_when": "coalesce(modified_by, '') = 'deleted'"}
    parts = parts_with(dbt, parsed, {"project_permissions": feed})
    nights = [str(FIRST_NIGHT + timedelta(days=each)) for each in range(4)]
    first, off, on, gone = ({"sf_date_created": night} for night in nights)
    world = {
        table: [row | first for row in rows] for table, rows in nobody_sees().items()
    }
    world["project_permissions"] = [
        to_user(**first),
        to_user(is_active="false", **off),
        to_user(**on),
        dict.fromkeys(TABLES["project_permissions"])
        | {"id": "5", "modified_by": "deleted"}
        | gone,
    ]
    Pipeline(spark, []).load(world)
    question = {"kind": "user", "asked": "ann", "limit": ALL}
    found = answers.answer(spark, question, parts)["changes"]
    told = [
        (change["at"], change["change"], row["is_deleted"])
        for change in found
        if change["tier"] == "project"
        for row in change["rows"]
        if row["table"] == "project_permissions"
    ]
    changes = ("gained", "lost", "gained", "lost")
    deleted = (False, False, False, True)
    assert told == list(zip(nights, changes, deleted, strict=True))


@pytest.mark.spark
def test_nothing_is_told_before_the_past_of_all_tables_is_known(spark, parts):
    nights = [FIRST_NIGHT + timedelta(days=each) for each in range(4)]
    first, second, third, fourth = ({"sf_date_created": str(n)} for n in nights)
    world = {
        table: [row | first for row in rows] for table, rows in nobody_sees().items()
    }
    # What was given and taken while the table of users was not known is not told.
    world["project_permissions"] = [
        to_user(**first),
        to_user(is_active="false", **second),
        to_user(**third),
        to_user(is_active="false", **fourth),
    ]
    (ann,) = world["users"]
    left = {"id": "2", "login_name": "bob"}
    world["users"] += [
        ann | {"login_name": "annie"} | third,
        ann | left,
        ann | left | {"is_active": "false"} | second,
    ]
    Pipeline(spark, []).load(world)
    at = [
        (night - datetime(1970, 1, 1)) // timedelta(microseconds=1) for night in nights
    ]
    since = {"known_since": {"users": at[2], "projects": 0}}
    question = {"kind": "user", "asked": "ann", "limit": ALL}
    told = [
        (change["at"], change["change"], {row["table"] for row in change["rows"]})
        for change in answers.answer(spark, question, parts | since)["changes"]
        if change["tier"] == "project"
    ]
    # At the first moment each row of the path begins to be known.
    of_path = {"users", "projects", "project_permissions"}
    assert told == [
        (str(nights[2]), "gained", of_path),
        (str(nights[3]), "lost", {"project_permissions"}),
    ]
    question["asked"] = "bob"
    found = answers.answer(spark, question, parts | since)
    assert found["asked"] == [{"type": "User", "id": 2, "name": "bob"}]
    assert found["changes"] == []


def test_tables_that_no_tier_is_about_decide_not_since_when_a_timeline_tells():
    tiers = {"results": {"rights": [{"object_type": "Project"}]}}
    parts = {"raw_tables": repository_tables(), "tiers": tiers}

    def since(**known: int) -> int | None:
        return answers.told_since(parts | {"known_since": known})

    assert since() is None
    assert since(users=2, projects=0, reports=5, report_permissions=6) == 2
    assert since(report_permissions=6) is None
    assert since(user_group_members=7, project_permissions=3) == 7
    tiers["reports"] = {"rights": [{"object_type": "Report"}]}
    assert since(users=2, projects=0, report_permissions=6) == 6


def test_an_answer_says_since_when_it_tells(monkeypatch):
    asked = {"asked": [{"type": "User", "id": 1, "name": "ann"}]}
    monkeypatch.setattr("dbt_secure_spark.session.start_session", lambda _: None)
    monkeypatch.setattr("dbt_secure_spark.submission.session_parameters", lambda _: {})
    monkeypatch.setattr(answers, "answer", lambda *_: asked | {"changes": []})
    credentials = SimpleNamespace(credentials=None)
    timelines = access_timelines(SimpleNamespace(config=credentials))
    tiers = {"results": {"rights": [{"object_type": "Project"}]}}
    parts = {"tiers": tiers, "tiers_not_told": [], "known_since": {}}
    found = timelines.answer({"kind": "user"}, parts, repository_tables())
    assert "told_since" not in found and "known_since" not in found
    parts["known_since"] = {"users": 2 * 10**6, "projects": 10**6, "reports": 10**7}
    found = timelines.answer({"kind": "user"}, parts, repository_tables())
    assert found["told_since"] == "1970-01-01 00:00:02"
    assert found["known_since"] == {
        "projects": "1970-01-01 00:00:01",
        "users": "1970-01-01 00:00:02",
    }


def accesses(state: AccessState) -> set[tuple[int, str, int]]:
    """Return who has access to which object, of the right of each tier."""
    return {
        (user, "Project", project)
        if tier == "project"
        else (user, "Data Source", source)
        for tier, user, source, project in state
    }


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.parametrize(
    ("are_all", "session"), [(True, SESSIONS[0]), (False, SESSIONS[1])]
)
def test_V2_access_on_days_is_that_of_the_states_as_of_them(
    spark, parts, are_all, session
):
    world = world_of_nights()
    # Nights of which some bring nothing to a day, and days that have nights between.
    offsets = [-9, 0, 1, 2, 6, 7, 8, NIGHTS, NIGHTS + 5]
    days = [(FIRST_NIGHT + timedelta(days=each)).date() for each in offsets]
    begins = [datetime(day.year, day.month, day.day) for day in days]
    at = [accesses(access_state(loaded_until(world, begin))) for begin in begins]
    known = sorted({each[1:] for of_day in at for each in of_day})
    chosen = known if are_all else random.Random(2).sample(known, 4)
    objects: dict[str, set[int]] = {"Data Source": {10**9}}
    for kind, object_id in chosen:
        objects.setdefault(kind, set()).add(object_id)
    wanted = []
    # Before the first load there is only what has no load time.
    for day, of_day in list(zip(days, at, strict=True))[2:]:
        of_objects = {each for each in of_day if each[1:] in chosen}
        people = len({user for user, *_ in of_objects})
        wanted.append({"day": day, "accesses": len(of_objects), "people": people})
    assert len({row["accesses"] for row in wanted}) > 4
    Pipeline(spark, []).load(world)
    with session_settings(spark, *session):
        told = access_on(spark, days, objects, parts, are_all=are_all)
    assert told == wanted


@pytest.mark.nightly
@pytest.mark.spark
def test_V2_before_the_first_delivery_nothing_is_told(spark, parts):
    midnight = datetime(2026, 6, 3)
    loaded = {"sf_date_created": str(midnight)}
    world = {
        table: [row | loaded for row in rows]
        for table, rows in (
            nobody_sees() | {"project_permissions": [to_user()]}
        ).items()
    }
    Pipeline(spark, []).load(world)
    days = [(midnight + timedelta(days=each)).date() for each in (-1, 0, 1)]
    of_project = {"Project": {1}}
    told = access_on(spark, days, of_project, parts, are_all=False)
    # What is delivered when a day begins is of that day.
    wanted = [{"day": day, "accesses": 1, "people": 1} for day in days[1:]]
    assert told == wanted
    since = {"known_since": {"users": micros_of(days[2]), "projects": 0}}
    assert access_on(spark, days, of_project, parts | since, are_all=True) == wanted[1:]
    none = [row | {"accesses": 0, "people": 0} for row in wanted]
    assert access_on(spark, days, {"Project": {2}}, parts, are_all=True) == none
    assert access_on(spark, days, {}, parts, are_all=False) == []
    assert access_on(spark, days[:1], of_project, parts, are_all=True) == []


# ---------------------------------------------------------------------------
# Which rows are needed
# ---------------------------------------------------------------------------


class Selected:
    """The rows that questions need, of a world, without Spark."""

    def __init__(self, world: World) -> None:
        raw_tables = repository_tables()
        self.tables = answers.tables_of(raw_tables, DECIDING)
        self.objects = answers.object_tables(raw_tables)
        self.world = world
        self.asked: list[Wanted] = []
        self.deliveries = [
            delivery
            for table in self.tables
            for row in world[table]
            if (delivery := self.read(table, row))
        ]
        objects = list(self.objects.values())
        self.selection = Selection(self.lookup, self.tables, objects)

    def read(self, table: str, row: RawRow) -> Delivery | None:
        """Return a delivery with what it names, if its id can be read."""
        of_row = {
            column: value
            for column in ("id", *self.tables[table].references)
            if isinstance(value := read_value(BIGINT, row[column]), int)
        }
        return Delivery(table, of_row.pop("id"), of_row) if "id" in of_row else None

    def lookup(self, wanted: Iterable[Wanted]) -> list[Delivery]:
        """Return the deliveries that are wanted."""
        wanted = list(wanted)
        self.asked += wanted
        return [
            each
            for each in self.deliveries
            for one in wanted
            if each.table in one.tables
            and ((named := {"id": each.id} | each.named).get(one.column) is not None)
            and (one.ids is None or named[one.column] in one.ids)
        ]

    def loaded(self, rows: Mapping[str, set[int]]) -> World:
        """Return the world of these rows alone."""
        return {
            table: [
                row
                for row in there
                if read_value(BIGINT, row["id"]) in rows.get(table, ())
            ]
            for table, there in self.world.items()
        }


def is_told_by_its_rows(world: World, chosen: random.Random, times: int) -> int:
    """Hold what is asked of a world against its timeline; return the changes held."""
    whole, selected, held = timeline(world), Selected(world), 0
    for place, table in ((1, USERS), (2, "meta_data_sources"), (3, "projects")):
        ids = sorted({c.key[place] for c in whole if c.key[place] is not None})
        for asked in chosen.sample(ids, min(times, len(ids))):
            if place == 1:
                rows = selected.selection.of_users({asked})
            else:
                rows = selected.selection.of_objects({table: {asked}})
            assert asked in rows[table]
            found = timeline(selected.loaded(rows))
            expected = [c for c in whole if c.key[place] == asked]
            assert [c for c in found if c.key[place] == asked] == expected
            held += len(expected)
    return held


@pytest.mark.parametrize("seed", range(740, 740 + (MORE or 6)))
def test_T4_the_rows_that_are_chosen_tell_what_all_rows_tell(seed):
    world = in_nights(random_world(seed))
    held = is_told_by_its_rows(world, random.Random(seed), 4)
    # Of many, some have no users.
    assert held > 10 or MORE


def test_T4_of_many_rows_only_those_are_chosen_that_may_decide():
    world = in_nights(random_world(731))
    selected = Selected(world)
    users = {each.id for each in selected.deliveries if each.table == USERS}
    powerful = {
        each.named["user_id"]
        for each in selected.deliveries
        if each.table == "user_global_roles" and "user_id" in each.named
    }
    for user in sorted(users - powerful):
        rows = selected.selection.of_users({user})
        assert rows[USERS] == {user}
        members = {
            each.id
            for each in selected.deliveries
            if each.table == "user_group_members" and each.named.get("user_id") == user
        }
        assert rows.get("user_group_members", set()) == members


def test_T4_what_is_needed_is_looked_up_in_few_questions(monkeypatch):
    calls = []
    lookup = Selected.lookup
    monkeypatch.setattr(
        Selected, "lookup", lambda self, wanted: calls.append(1) or lookup(self, wanted)
    )
    selected = Selected(in_nights(random_world(731)))
    selected.selection.of_users({1, 2, 3})
    assert len(calls) == 3
    selected.selection.of_objects({"projects": {1, 2, 3}})
    assert len(calls) == 3 + 4


def test_T4_groups_are_followed_up_or_down_at_any_depth_and_round_a_ring():
    parents = [(1, 2), (2, 3), (3, 1), (5, 3), (6, 7)]
    links = [Delivery(GROUPS, low, {PARENT: high}) for low, high in parents]
    assert reached({5}, links, is_up=True) == {1, 2, 3, 5}
    assert reached({3}, links, is_up=False) == {1, 2, 3, 5}
    assert reached({7}, links, is_up=False) == {6, 7}
    assert reached({8}, links, is_up=True) == {8}
    assert reached(set(), links, is_up=True) == set()


# ---------------------------------------------------------------------------
# By which rows
# ---------------------------------------------------------------------------

GRANT, MEMBER = ("data_source_permissions", 1), ("user_group_members", 2)
OTHER_GRANT, GROUP = ("data_source_permissions", 3), ("user_groups", 4)


def made(ways: list[Way], moved: dict, moment: int, had, has, by_kind=True) -> list:
    """Return the rows that made a change of what has one part."""
    evidence = Evidence({("part",): ways}, {r: frozenset(m) for r, m in moved.items()})
    return evidence.made([("part",)], moment, had, has, by_kind)


def test_T4_access_that_begins_with_a_membership_is_given_by_it_and_not_by_the_grant():
    ways = [Way("Group", 3, 9, (GRANT, MEMBER))]
    moved = {GRANT: {1}, MEMBER: {3}}
    assert made(ways, moved, 3, False, True) == [(MEMBER, GIVES)]


def test_T4_access_that_ends_is_taken_by_the_row_that_moved_then():
    ways = [Way("Group", 3, 5, (GRANT, MEMBER))]
    moved = {GRANT: {1, 6}, MEMBER: {3}}
    assert made(ways, moved, 6, True, False) == [(GRANT, TAKES)]


def test_T4_a_second_way_of_a_kind_that_is_there_makes_no_difference():
    ways = [Way("User", 1, 9, (GRANT,)), Way("User", 4, 9, (OTHER_GRANT,))]
    ways += [Way("Group", 4, 9, (GRANT, MEMBER))]
    moved = {GRANT: {1}, OTHER_GRANT: {4}, MEMBER: {4}}
    assert made(ways, moved, 4, True, True) == [(MEMBER, GIVES)]
    # Where kinds make none either, nothing is left.
    assert made(ways, moved, 4, True, True, by_kind=False) == []


def test_T4_one_kind_of_way_may_take_the_place_of_another():
    ways = [Way("User", 1, 3, (GRANT,)), Way("Group", 4, 9, (OTHER_GRANT, MEMBER))]
    moved = {GRANT: {1, 4}, OTHER_GRANT: {1}, MEMBER: {4}}
    assert made(ways, moved, 4, True, True) == [(GRANT, TAKES), (MEMBER, GIVES)]


def test_T4_what_closes_a_ring_is_told_though_it_is_on_no_way():
    ways = [Way("Group", 1, 3, (GRANT, MEMBER))]
    moved = {GRANT: {1}, MEMBER: {1}, GROUP: {1, 4}}
    assert made(ways, moved, 4, True, False) == [(GROUP, TAKES)]


def test_T4_a_tier_is_made_of_its_rights_and_links():
    tier = {
        "keys": ["project_id", "meta_data_source_id"],
        "rights": [
            {
                "key": "meta_data_source_id",
                "object_type": "Data Source",
                "permission": "View Test Results",
            }
        ],
        "links": [{"table": "project_data_sources", "key": "project_data_source_id"}],
    }
    assert parts_of(tier, 8, {"project_id": 1, "meta_data_source_id": 2}) == [
        (8, "Data Source", 2, "View Test Results"),
        ("project_data_sources", 1, 2),
    ]


# ---------------------------------------------------------------------------
# Which models are run
# ---------------------------------------------------------------------------


def node(name: str, *parents: str, package: str = "secure_datasets") -> dict[str, Any]:
    """Return a model as dbt's graph has it."""
    return {
        "name": name,
        "resource_type": "model",
        "package_name": package,
        "language": "sql",
        "raw_code": f"select '{name}'",
        "depends_on": {"nodes": list(parents)},
    }


def graph(*nodes: dict) -> dict[str, Any]:
    """Return nodes by their ids."""
    return {f"model.{each['name']}": each for each in nodes}


def test_T4_models_are_run_from_staging_on_parents_first():
    nodes = graph(
        node("stg_users", "source.users"),
        node("paths", "model.stg_users", "seed.role_permissions"),
        node("view", "model.paths", "model.stg_users"),
    )
    found = models_needed(["view"], nodes)
    assert [model["name"] for model in found["models"]] == ["paths", "view"]
    assert found["staged"] == ["users"]
    assert found["models"][0]["code"] == OWN_REF + "select 'paths'"


@pytest.mark.parametrize(
    "of_own",
    [
        node("view", "source.x.y"),
        node("view", "snapshot.x"),
        # It is called as a staged table of the product is.
        node("view", "model.stg_users"),
        node("view") | {"resource_type": "seed"},
    ],
)
def test_T4_a_tier_that_reads_past_staging_is_named_as_not_told(of_own):
    nodes = graph(
        node("stg_users", "source.users", package="bank"),
        node("explained_access_paths"),
        of_own,
    )
    with pytest.raises(NotToldError):
        models_needed(["view"], nodes)
    tier = {"view": "view", "keys": [], "links": []}
    found = access_timelines(None).models({"own": tier}, nodes)
    assert (found["tiers"], found["tiers_not_told"]) == ({}, ["own"])


@pytest.mark.nightly
def test_T4_the_sample_tells_its_own_tier_too(parts):
    assert list(parts["tiers"]) == [*TIERS, "reports"]
    assert parts["tiers_not_told"] == []


def test_T4_the_ids_of_a_row_are_its_key_and_what_it_names():
    table = Table("user_group_members", "user_group_member_id", {"user_id": "users"})
    assert table.ids == ("user_group_member_id", "user_id")


# ---------------------------------------------------------------------------
# The question, and the answer for people
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "asked", "form", "limit", "sentence"),
    [
        (None, None, "text", 9, "name either a user"),
        ("", "\u00a0", "text", 9, "name either a user"),
        ("hpark", "Project 7", "text", 9, "name either a user"),
        ("hpark", None, "csv", 9, "there is no format 'csv'; known are text and json."),
        ("hpark", None, "text", 0, "'limit' is '0', which is no whole number above 0."),
        ("hpark", None, "text", -1, "'limit' is '-1', which is no whole number"),
        ("hpark", None, "text", "all", "'limit' is 'all', which is no whole number"),
        ("hpark", None, "text", True, "'limit' is 'True', which is no whole number"),
        ("hpark", None, "\x1b[2J", 9, "there is no format '?[2J'"),
    ],
)
def test_T4_what_is_asked_wrongly_is_told_before_anything_is_read(
    user, asked, form, limit, sentence
):
    with pytest.raises(CompilationError) as stopped:
        access_timelines(None).question(user, asked, form, limit)
    assert str(stopped.value.msg).startswith(f"timeline: {sentence}")


def test_T4_a_question_is_read_without_the_white_space_around_it():
    found = access_timelines(None).question(" 8\u00a0", None, "text", "20")
    assert found == {"kind": "user", "asked": "8", "limit": 20}
    found = access_timelines(None).question("", "Project 7", "json", 5)
    assert found == {"kind": "object", "asked": "Project 7", "limit": 5}


def test_T4_a_moment_is_told_in_utc_and_the_beginning_as_none():
    assert moment_text(BEGINNING) is None
    assert moment_text(0) == "1970-01-01 00:00:00"
    assert moment_text(1_777_593_600_000_001) == "2026-05-01 00:00:00.000001"
    # Before the epoch, too, and at both ends of the calendar.
    assert moment_text(-500_000) == "1969-12-31 23:59:59.500000"
    assert moment_text(-62_135_596_800_000_000) == "0001-01-01 00:00:00"
    last = "9999-12-31 23:59:59.999999"
    assert moment_text(253_402_300_799_999_999) == last


def test_T4_a_change_is_a_line_for_people():
    change = {
        "at": None,
        "change": "changed",
        "tier": "data_source",
        "user_id": 8,
        "login_name": None,
        "objects": [{"key": "meta_data_source_id", "id": 3, "name": None}],
        "carried_before": "User - View Metadata",
        "carried": "Multiple",
        "rows": [
            {
                "table": "user_group_members",
                "id": 4,
                "effect": "gives",
                "is_deleted": False,
            }
        ],
    }
    of_results = change | {
        "at": "2026-05-01 02:00:00",
        "change": "lost",
        "tier": "results",
        "login_name": "hpark",
        "objects": [
            {"key": "project_id", "id": 1, "name": "Ledger"},
            {"key": "meta_data_source_id", "id": 3, "name": "crm"},
        ],
        "carried_before": None,
        "carried": None,
        "rows": [],
    }
    found = {
        "asked": [{"type": "User", "id": 8, "name": None}],
        "changes": [change, of_results],
        "left_out": 2,
        "tiers_not_told": ["own"],
        "types_not_told": [],
    }
    above, rows, below = text.as_lines(found)
    assert above == [
        "User 8, (no name)",
        "By load times in UTC and the definitions of today.",
        "Not told, as their access views read past staging: own.",
    ]
    assert rows == [
        [
            *("from the beginning", "user 8", "data source", "meta data source 3"),
            *("changed", "User - View Metadata > Multiple"),
            "user_group_members 4 gives",
        ],
        [
            *("2026-05-01 02:00:00", "hpark", "results", "crm in Ledger", "lost"),
            *("-", "-"),
        ],
    ]
    assert below == ["And 2 more changes: raise the limit."]
    since = {"known_since": {"users": "2026-05-01 00:00:00", "user_groups": "2026-06"}}
    since |= {"told_since": "2026-06"}
    assert text.as_lines(found | since)[0][2] == (
        "Told since 2026-06, from when snapshots of all tables are kept: users since"
        " 2026-05-01 00:00:00, user_groups since 2026-06. What was there then may have"
        " begun before."
    )
    nothing = found | {"changes": [], "left_out": 0}
    assert text.as_lines(nothing)[2] == ["There has never been any access."]
    # Of what no tier is about nobody knows that there was none.
    above, _, below = text.as_lines(nothing | {"types_not_told": ["Report"]})
    assert "no tier is about a Report" in above[-1] and below == []


def test_T4_what_no_tier_is_about_is_not_told():
    tiers = {
        "results": {
            "rights": [{"object_type": "Data Source"}, {"object_type": "Project"}]
        }
    }
    asked = [{"type": kind} for kind in ("Report", "Project", "Report", "User")]
    assert types_not_told(asked, tiers) == ["Report"]
    assert types_not_told(asked[1:2], {}) == ["Project"]


@pytest.mark.nightly
@pytest.mark.spark
def test_T4_an_object_is_meant_by_its_type_and_id_or_by_its_name(spark, parts):
    none: World = {table: [] for table in TABLES}
    world = none | {
        "users": [
            raw("users", 8, login_name="hpark", email="H.Park@x.example"),
            raw("users", 8, login_name="hpark2"),
            raw("users", 9, login_name="8", email="h.park@X.example"),
        ],
        "projects": [raw("projects", 1, name="Ledger"), raw("projects", 2, name="7")],
        "meta_data_sources": [
            raw("meta_data_sources", 1, name="LEDGER"),
            raw("meta_data_sources", 7, name="Project 2"),
        ],
    }
    Pipeline(spark, []).load(world)
    raw_tables = parts["raw_tables"]
    tables = answers.tables_of(raw_tables, parts["staged"])
    replica = answers.Replica(spark, parts["queries"], tables)

    def meant(kind: str, asked: str) -> dict[str, set[int]]:
        question = {"kind": kind, "asked": asked}
        return answers.meant(replica, question, answers.object_tables(raw_tables))

    assert meant("user", "HPARK2") == {"users": {8}}
    assert meant("user", "8") == {"users": {8, 9}}
    assert meant("user", "h.park@x.EXAMPLE") == {"users": {8, 9}}
    assert meant("user", "Ledger") == {}
    both = {"projects": {1}, "meta_data_sources": {1}}
    assert meant("object", "ledger") == both
    assert meant("object", "project  1") == {"projects": {1}}
    assert meant("object", "Data Source ledger") == {"meta_data_sources": {1}}
    assert meant("object", "Project 7") == {"projects": {2}}
    assert meant("object", "project 2") == {"projects": {2}, "meta_data_sources": {7}}
    for nothing in ("Project", "Project 999", "Project2", "hpark", "1"):
        assert meant("object", nothing) == {}, nothing


def raw(table: str, row_id: int, **values: str) -> RawRow:
    """Return a delivery of a live row."""
    row = dict.fromkeys(TABLES[table]) | {"id": str(row_id), "is_active": "true"}
    return row | values


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"user": "nobody\x1b"},
            "there has never been a user with the id, login name or e-mail address"
            " 'nobody?'.",
        ),
        ({"object_name": "Project 999"}, "has never been an object 'Project 999'"),
    ],
)
def test_T4_who_or_what_was_never_there_is_told_in_one_sentence(asked, sentence):
    timelines = access_timelines(None)
    given = {"user": None, "object_name": None} | asked
    question = timelines.question(**given, format_name="text", limit=9)
    with pytest.raises(CompilationError, match=re.escape(sentence)):
        timelines.checked(question, {"asked": []})
    there = {"asked": [{"type": "User", "id": 8, "name": None}]}
    assert timelines.checked(question, there) == there
