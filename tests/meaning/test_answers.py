"""Why, why not, what is missing and what it hangs on, over what the product built.

`WORLDS` in the environment says how many random worlds: 60 unless it is given.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import pytest
from built import AskedOfBuilt
from oracle.contract import (
    COLUMNS,
    DATASET_FUNCTIONS,
    PARENT_TABLES,
    ROLE_PERMISSIONS,
    ROLE_TABLES,
    TABLES,
    UNREADABLE,
    Rights,
    Staging,
    World,
    differ,
    evaluate,
    known_name,
    newest,
    read_delivery,
    read_value,
    recency,
    stage,
)
from oracle.paths import PATH_COLUMNS, access_paths
from tier_questions import NAMES, VIEWS, nobody_sees, raw, reached_by, to_user
from worlds import apart, together

from secure_datasets.config.tiers import tier_parts
from secure_datasets.questions import answers, missing, notes

WORLDS = int(os.environ.get("WORLDS", "60"))
IN_A_BATCH = 20
# The whole answer about what is closed takes two seconds.
A_CLOSED_ONE_IN = 5
FIRST_NEW_ID = 10**9
REASONS = "select distinct reason from uncounted_deliveries"
ALL_USERS = "select user_id, is_live from stg_users where user_id is not null"
# What gives rights; the user's row and the objects' are needed in any case.
GIVING = (
    *("user_global_roles", "user_groups", "user_group_members"),
    *("data_source_permissions", "project_permissions", "project_data_sources"),
)


@dataclass
class OneWorld:
    """A world of a batch, as the contract reads it."""

    seed: int
    world: World

    @cached_property
    def staging(self) -> Staging:
        """What the contract takes of each row."""
        return stage(self.world)

    @cached_property
    def paths(self) -> list[dict]:
        """Every path of every user."""
        rows = access_paths(self.staging)
        return [dict(zip(PATH_COLUMNS, row, strict=True)) for row in rows]

    def reached(self, user: int, **changed: list) -> dict[str, set[tuple[int, ...]]]:
        """Return what a user reaches by tier, where some tables have other rows."""
        none: World = {table: [] for table in TABLES}
        winners = {
            table: stage(none | {table: rows}).winners[table]
            for table, rows in changed.items()
        }
        staging = Staging(self.staging.winners | winners, self.staging.rejected)
        return reached_by(Rights(staging), user)

    def without(self, table: str, row_id: int) -> dict[str, list]:
        """Return a table without a row: without all that was delivered of its id."""
        rows = self.world[table]
        return {table: [r for r in rows if read_value("bigint", r["id"]) != row_id]}

    def with_rows(self, rows: Iterable[tuple[str, dict]]) -> dict[str, list]:
        """Return tables with rows that are new, as the loader would bring them."""
        more: dict[str, list] = {}
        for table, values in rows:
            found = more.setdefault(table, list(self.world[table]))
            found.append(raw(table, id=FIRST_NEW_ID + len(found), **values))
        return more

    def put_right(self, table: str, row_id: int, right: str | None) -> dict[str, list]:
        """Return a table in which one row is as it was meant: active and readable."""
        rows = [r for r in self.world[table] if read_value("bigint", r["id"]) == row_id]
        (row, *_) = newest([read_delivery(table, row) for row in rows])
        dates = ("date_created", "date_modified", "sf_date_created")
        mended = row.raw | dict.fromkeys(dates, "2027-01-01 00:00:00")
        mended["is_active"] = "true"
        if right:
            # What has it need not have it alone.
            roles = ROLE_PERMISSIONS[ROLE_TABLES[table]]
            is_any = right == "Project Member"
            named = (role for role, names in roles.items() if is_any or right in names)
            mended["role_name"] = next(named)
        return {table: [*self.without(table, row_id)[table], mended]}

    def places(self) -> list[tuple[int, str, tuple[int, ...]]]:
        """Return every live user with every object of a tier."""
        users, sources, projects = (
            sorted(self.staging.live(table))
            for table in ("users", "meta_data_sources", "projects")
        )
        keys = {
            "data_source": [(source,) for source in sources],
            "project": [(project,) for project in projects],
            "results": [(p, source) for p in projects for source in sources],
        }
        return [(user, t, key) for user in users for t in keys for key in keys[t]]

    def some_places(self, is_open: bool, count: int) -> list[tuple]:
        """Return some users with objects that are open, or closed, to them."""
        chance, found = random.Random(self.seed), []
        every = self.places()
        chance.shuffle(every)
        held: dict[int, dict] = {}
        for user, tier, key in every:
            if user not in held:
                held[user] = self.reached(user)
            if (key in held[user][tier]) is is_open:
                found.append((user, tier, key))
            if len(found) == count:
                break
        return found


@dataclass
class Batch:
    """Some worlds that the product has built as one."""

    worlds: list[OneWorld]

    def __post_init__(self) -> None:
        """Build them, and work out what the contract says."""
        self.world = together(each.world for each in self.worlds)
        self.asked = AskedOfBuilt(self.world).over(self.world)
        self.expected = evaluate(self.world)

    def ask(self, user: int, tier: str, key: tuple) -> dict:
        """Return the answer about a user and an object."""
        named = dict(zip(NAMES[tier], key, strict=True))
        found = self.asked.ask(user=user, tier=tier, object=named)
        (answer,) = [a for a in found if a["user"]["user_id"] == user]
        return answer


@pytest.fixture(scope="module", params=range(0, WORLDS, IN_A_BATCH))
def batch(request) -> Batch:
    """The worlds of some seeds."""
    seeds = range(request.param, min(request.param + IN_A_BATCH, WORLDS))
    worlds = apart(seeds)
    return Batch([OneWorld(*each) for each in zip(seeds, worlds, strict=True)])


def of_one_world(user: int, key: int) -> bool:
    """Whether two ids are of one world of a batch."""
    left, other = abs(user) % 1000, abs(key) % 1000
    return left == other and (left == 0 or (user < 0) is (key < 0))


# What gives rights or leads to some, and by which columns.
LINKING = {
    **{table: ["role_name"] for table in ROLE_TABLES},
    **{table: [] for table in ("user_groups", "user_group_members")},
    **{table: [] for table in ("project_data_sources", "meta_data_sources", "reports")},
}


def uncounted(table: str, world: World, staged: World, staging: Staging) -> Counter:
    """Count the deliveries of a raw table that do not count, with the reason of each.

    staged   what had been delivered when staging ran
    staging  what staging took of it
    """
    found: Counter = Counter()
    linked_by = [c for c in TABLES[table] if c in PARENT_TABLES]
    parents = {column: staging.live(PARENT_TABLES[column]) for column in linked_by}
    links = [*parents, *LINKING[table]]
    reasons = {
        read_value("bigint", raw_id): reason
        for name, raw_id, reason, _ in staging.rejected
        if name == table
    }

    def linked(read: dict) -> list:
        values = {c: None if read[c] is UNREADABLE else read[c] for c in links}
        if "role_name" in values:
            roles = ROLE_PERMISSIONS[ROLE_TABLES[table]]
            known = known_name(values["role_name"], roles)
            if known is not UNREADABLE:
                values["role_name"] = known
        return list(values.values())

    by_id: dict = {}
    taken: dict = {}
    for rows, found_of in ((world, by_id), (staged, taken)):
        for row in rows[table]:
            delivery = read_delivery(table, row)
            found_of.setdefault(delivery.read["id"], []).append(delivery)
    for row_id, deliveries in by_id.items():
        winner = staging.winners[table].get(row_id)
        newest_of_all, is_told = newest(deliveries), False
        last, is_clear = newest_of_all[0], not differ(newest_of_all)
        before = max(map(recency, taken.get(row_id, [])), default=None)
        for each in deliveries:
            reason, is_same = None, linked(each.read) == linked(last.read)
            if not isinstance(row_id, int):
                reason = "unreadable id"
            elif before is None or recency(each) > before:
                if each.active and each in newest_of_all:
                    reason = "not staged" + ("" if is_clear else ", conflict")
                elif each.active and not (is_clear and is_same and last.active):
                    reason = "not staged, superseded"
            elif row_id in reasons:
                reason = reasons[row_id]
            elif linked(each.read) == linked(winner):
                if winner["is_active"] is not True and not is_told:
                    reason, is_told = "switched off", True
            elif each.active:
                reason = "superseded"
            if reason:
                found[(row_id if isinstance(row_id, int) else None, reason)] += 1
    for row_id, row in staging.live(table).items():
        if any(row[c] is not None and row[c] not in of for c, of in parents.items()):
            found[row_id, "not live"] += 1
    return found


def test_W3_exactly_what_does_not_count_is_there_with_its_reason(batch):
    chance = random.Random(batch.worlds[0].seed)
    for share in (1, 0.7):
        staged = {
            table: [row for row in rows if chance.random() < share]
            for table, rows in batch.world.items()
        }
        staging = stage(staged)
        asked = AskedOfBuilt(batch.world, staged).over(batch.world)
        asked.uncounted_of("user_groups")
        for table in LINKING:
            rows = asked.built.rows(
                "select row_id, reason, count(*) as number from uncounted_deliveries"
                f" where table_name = '{table}' group by row_id, reason"
            )
            found = {(row["row_id"], row["reason"]): row["number"] for row in rows}
            assert found == uncounted(table, batch.world, staged, staging), table
        reasons = {row["reason"] for row in asked.built.rows(REASONS)}
        assert {"superseded", "switched off", "conflict", "not live"} <= reasons
        assert share == 1 or {"not staged", "not staged, superseded"} <= reasons


@pytest.mark.parametrize("dataset", DATASET_FUNCTIONS)
def test_W1_the_gates_are_open_exactly_where_the_contract_shows_the_row(batch, dataset):
    asked, config = batch.asked, batch.asked.config
    keys = config["datasets"][dataset]["unique_key"]
    facts = {
        "dataset": dataset, "columns": [], "below": None,
        "base": f"vw_dataset_{dataset}",
        "cases": asked.gate_cases(dataset, config),
        "rules": asked.rules_on(dataset, config, dataset),
        "parts": {
            tier: tier_parts(tier, config, asked.repository_tables())
            for tier in config["tiers"]
        },
        "outcome": None, "roles": [], "security": {}, "paths": [], "links": [],
        "objects": [], "is_query": False, "missing": [], "missed": {}, "nearest": None,
    }  # fmt: skip
    query = asked.gates_query(dataset, config, ALL_USERS)
    # Of one world each: all pairs would grow with the square of the worlds.
    rows = asked.built.rows(
        f"select * from ({query}) as judged where user_id % 1000 = {keys[-1]} % 1000"
    )
    seen = set()
    for row in rows:
        person = row | {"rejection_reason": None}
        answer = answers.row_answer(facts | {"found": [row]}, person)
        closed = [g["gate"] for g in answer["gates"] if g["state"] == "closed"]
        assert [gate["gate"] for gate in answer["gates"]] == list(notes.GATES)
        assert answer["seen"] is (not closed)
        assert answer["closed_gate"] == (closed[0] if closed else None)
        if answer["seen"]:
            seen.add((row["user_id"], *(row[key] for key in keys)))
    relation = f"vw_secure_dataset_{dataset}"
    at = [COLUMNS[relation].index(column) for column in ("user_id", *keys)]
    users = {row["user_id"] for row in asked.built.rows(ALL_USERS)}
    wanted = set()
    for each in batch.expected.relations[relation]:
        user, *key = (each[i] for i in at)
        some = users if user is None else [user]
        wanted |= {(u, *key) for u in some if of_one_world(u, key[-1])}
    assert seen == wanted
    assert wanted


def paths_in(notes: list[dict]) -> set[tuple]:
    """Return the paths that evidence lists: the granting row and the membership's."""
    found = set()
    for note in notes:
        if "path_kind" in note:
            names = ("permission_name", "path_kind", "grant_table", "grant_id")
            found.add((*(note[name] for name in names), note["user_group_member_id"]))
        found |= paths_in(note["evidence"])
    return found


def paths_to(world: OneWorld, user: int, tier: str, key: tuple) -> set[tuple]:
    """Return the paths of a user to what a tier asks for on an object."""
    rights = {
        "data_source": [("Data Source", key[-1], "View Metadata")],
        "project": [("Project", key[0], "Project Member")],
        "results": [
            ("Data Source", key[-1], "View Test Results"),
            ("Project", key[0], "Project Member"),
        ],
    }[tier]
    names = ("permission_name", "path_kind", "grant_table", "grant_id")
    return {
        (*(path[name] for name in names), path["user_group_member_id"])
        for path in world.paths
        if path["user_id"] == user
        and (path["object_type"], path["object_id"], path["permission_name"]) in rights
    }


def test_W2_W7_an_open_tier_has_all_paths_and_the_rows_that_it_hangs_on(batch):
    asked = 0
    for world in batch.worlds:
        chance = random.Random(world.seed)
        rows = [(table, key) for table in GIVING for key in world.staging.live(table)]
        for user, tier, key in world.some_places(is_open=True, count=1):
            answer = batch.ask(user, tier, key)
            assert answer["seen"], (user, tier, key)
            evidence = answer["gates"][2]["evidence"]
            assert paths_in(evidence) == paths_to(world, user, tier, key)
            found = {(row["table"], row["id"]) for row in answer["last_support"]}
            for row in {*found, *chance.sample(rows, min(12, len(rows)))}:
                if row[0] not in GIVING:
                    # The data source itself, where ownership alone gives the right.
                    assert row[0] == "meta_data_sources"
                    continue
                left = world.reached(user, **world.without(*row))[tier]
                assert (key in left) is (row not in found), (user, tier, key, row)
            asked += 1
    assert asked


def test_W1_W3_a_closed_tier_says_so_and_each_mend_opens_it_by_itself(batch):
    for world in batch.worlds[::A_CLOSED_ONE_IN]:
        for user, tier, key in world.some_places(is_open=False, count=1):
            answer = batch.ask(user, tier, key)
            assert answer["seen"] is False, (user, tier, key)
            for mend in answer.get("mends", []):
                right = mend["says"].partition("one that gives ")[2] or None
                after = world.put_right(mend["table"], mend["id"], right)
                now = world.reached(user, **after)[tier]
                assert key in now, (user, tier, key, mend)


def test_W5_each_set_is_sound_and_minimal_and_gives_what_it_says(batch):
    looked_at = 0
    for world in batch.worlds:
        for user, tier, key in world.some_places(is_open=False, count=1):
            before = world.reached(user)
            sides = [(tier, dict(zip(NAMES[tier], key, strict=True)))]
            person = {"user_id": user, "is_live": True}
            state = batch.asked.state(sides, person)
            sets = missing.nearest(state, sides)
            assert sets, "a live user can be given what is on live objects"
            assert len(sets) <= missing.LIMIT
            assert sets == sorted(sets, key=lambda s: (len(s.rows), s.weight))
            for found in [sets[0], *sets[1:][-1:]]:
                rows = [(row.table, dict(row.values)) for row in found.rows]
                after = world.reached(user, **world.with_rows(rows))
                # Sound.
                assert key in after[tier], (user, tier, key, rows)
                # Minimal.
                for part in combinations(rows, len(rows) - 1):
                    less = world.reached(user, **world.with_rows(part))
                    assert key not in less[tier], (user, tier, key, rows)
                # What else.
                for name, objects in after.items():
                    asked = {key} if name == tier else set()
                    more = objects - before[name] - asked
                    assert found.gained[name] == more, (user, tier, key, rows)
                looked_at += 1
    assert looked_at


def test_W8_every_path_behind_the_access_views_is_there_as_data(batch):
    built = batch.asked.built
    rows = built.engine.ask(
        f"select {', '.join(PATH_COLUMNS)} from explained_access_paths"
    )
    found = sorted(map(comparable, (tuple(row.values()) for row in rows)), key=repr)
    wanted = access_paths(stage(batch.world))
    assert found == sorted(map(comparable, wanted), key=repr)
    paths = [dict(zip(PATH_COLUMNS, path, strict=True)) for path in wanted]
    for tier, keys in NAMES.items():
        view = batch.asked.config["tiers"][tier]["access_view"]
        seen = built.tuples(("user_id", *keys), view)
        of_tier = f"access_explanations where tier = '{tier}'"
        assert built.tuples(("user_id", *keys), of_tier) == seen
        parts = tier_parts(tier, batch.asked.config, batch.asked.repository_tables())
        rights = {
            (r["object_type"], r["permission"]): r["key"] for r in parts["rights"]
        }
        # Every path to a right on one of the objects, each once.
        of_right: dict[tuple, int] = {}
        for path in paths:
            right = (path["object_type"], path["permission_name"])
            if right in rights:
                place = (path["user_id"], rights[right], path["object_id"])
                of_right[place] = of_right.get(place, 0) + 1
        own = sum(
            of_right.get((row[0], name, key), 0)
            for row in seen
            for name, key in zip(keys, row[1:], strict=True)
        )
        (counted,) = built.rows(
            "select count(*) as paths from access_explanations"
            f" where tier = '{tier}' and path_kind <> 'Link'"
        )
        assert counted["paths"] == own


def test_W8_links_that_do_not_count_explain_nothing():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    grant = {"meta_data_source_id": 1, "user_id": 1, "role_name": "Tester"}
    world["data_source_permissions"] = [raw("data_source_permissions", id=1, **grant)]
    link = {"id": 2, "project_id": 1, "meta_data_source_id": 1, "is_active": "false"}
    world["project_data_sources"].append(raw("project_data_sources", **link))
    found = AskedOfBuilt(world).built.tuples(
        ("grant_table", "grant_id"), "access_explanations where tier = 'results'"
    )
    assert found == {
        *(("data_source_permissions", 1), ("project_data_sources", 1)),
        ("project_permissions", 5),
    }


def comparable(row: tuple) -> tuple:
    """Return a row with its moments in no zone, and its lists as texts."""
    return tuple(
        value.replace(tzinfo=None)
        if hasattr(value, "tzinfo")
        else tuple(value)
        if isinstance(value, list)
        else value
        for value in row
    )


def test_every_tier_is_asked_about():
    assert set(NAMES) == set(VIEWS)
