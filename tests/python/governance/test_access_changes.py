"""What changes between two states: D1, D2 and D5, over random worlds in DuckDB.

`CHANGE_WORLDS=250` in the environment looks at 250 pairs of each kind instead of 2.
"""

from __future__ import annotations

import json
import os
import random

import pytest
import yaml
from change_sandbox import MODELS, Compared
from oracle.contract import (
    COLUMNS,
    DATASET_FUNCTIONS,
    TABLES,
    Groups,
    RawRow,
    Rights,
    Staging,
    World,
    evaluate,
    read_value,
    stage,
)
from own_config import PRODUCTS, document_of, together
from random_worlds import random_world
from tier_questions import NAMES, VIEWS, nobody_sees, raw, to_user
from why_sandbox import PATH_COLUMNS, Asked, Database, access_paths

from secure_datasets.questions.changes import AccessChanges, access_queries, states
from secure_datasets.questions.changes.definitions import named_in, said_on_the_way

PAIRS = int(os.environ.get("CHANGE_WORLDS", 2))
GIVING = (
    *("users", "user_global_roles", "user_groups", "user_group_members"),
    *("meta_data_sources", "projects", "project_data_sources"),
    *("data_source_permissions", "project_permissions"),
)
ONE_PATH = (
    *("object_type", "object_id", "permission_name", "grant_table", "grant_id"),
    "user_group_member_id",
)
CHANGES = {(True, False): "lost", (False, True): "gained"}


def row_id(row: RawRow) -> object:
    """Return a raw row's id as it is read."""
    return read_value("bigint", row["id"])


def with_rows_of(world: World, other: World, rows: set[tuple[str, int]]) -> World:
    """Return a world in which some rows, by table and id, are those of another one."""
    mixed = {}
    for table in TABLES:
        kept = [row for row in world[table] if (table, row_id(row)) not in rows]
        mixed[table] = kept + [r for r in other[table] if (table, row_id(r)) in rows]
    return mixed


def edited(world: World, chance: random.Random) -> World:
    """Return a world with some rows that give rights taken away, added and changed."""
    other, rows = random_world(chance.randrange(10**6)), set()
    for table in chance.sample(GIVING, 4):
        ids = sorted({row_id(r) for w in (world, other) for r in w[table]}, key=repr)
        ids = [each for each in ids if isinstance(each, int)]
        rows |= {(table, each) for each in chance.sample(ids, min(3, len(ids)))}
    return with_rows_of(world, other, rows)


@pytest.fixture(
    scope="module",
    params=[(kind, seed) for seed in range(PAIRS) for kind in ("others", "edits")],
    ids=lambda param: f"{param[0]} {param[1]}",
)
def compared(request) -> Compared:
    """Two worlds that have nothing in common, or one and an edited one."""
    kind, seed = request.param
    before, after = random_world(seed), random_world(seed + 10_000)
    if kind == "edits":
        after = edited(before, random.Random(seed))
    found = Compared(before, after).compare()
    found.worlds = {"before": before, "after": after}
    return found


def access_of(world: World) -> dict[tuple, str | None]:
    """Return the rows of the access views with their access_type, by the evaluator."""
    rights = Rights(stage(world))
    return {
        (tier, row["user_id"], *(row[name] for name in NAMES[tier])): row.get(
            "access_type"
        )
        for tier, view in VIEWS.items()
        for row in view(rights)
    }


def paths_of(world: World, user: int | None) -> set[tuple]:
    """Return every path of a user, by the evaluator: what it gives, and its rows."""
    found = set()
    for row in access_paths(stage(world)):
        path = dict(zip(PATH_COLUMNS, row, strict=True))
        if path["user_id"] == user:
            steps = tuple(path["group_ids"] or ())
            found.add((*(path[name] for name in ONE_PATH), steps))
    return found


def new_rings(mixed: World, *states: World) -> set[int]:
    """Return the groups that are their own ancestors in a mixture of states alone."""
    mixed_rings, *rings = (
        {group for group in groups.live if groups.in_ring(group)}
        for groups in (Groups(stage(world)) for world in (mixed, *states))
    )
    return mixed_rings.difference(*rings)


def changes_of(compared: Compared) -> dict[tuple, dict]:
    """Return what the macros say, by tier, user and object."""
    return {
        (row["tier"], row["user_id"], *(row[name] for name in NAMES[row["tier"]])): row
        for row in compared.rows("select * from access_changes")
    }


def test_D1_the_changes_applied_to_before_give_after(compared):
    held = access_of(compared.worlds["before"])
    for key, row in changes_of(compared).items():
        if row["change"] == "gained":
            assert key not in held
            held[key] = None
        elif row["change"] == "lost":
            del held[key]
        else:
            assert held[key] == row["access_type_before"] != row["access_type_after"]
            held[key] = row["access_type_after"]
    wanted = access_of(compared.worlds["after"])
    assert set(held) == set(wanted)
    before = access_of(compared.worlds["before"])
    assert all(held[key] == wanted[key] for key in held if key in before)


def test_D1_the_paths_are_those_of_the_states(compared):
    for side in ("before", "after"):
        known = {
            (
                row["user_id"],
                row["permission_name"],
                row["grant_table"],
                row["grant_id"],
            )
            for row in compared.rows(f"select * from {side}.explained_access_paths")
        }
        links = {
            row["project_data_source_id"]
            for row in compared.rows(
                f"select * from {side}.stg_project_data_sources where is_live"
            )
        }
        gone = "gained" if side == "before" else "lost"
        for row in changes_of(compared).values():
            paths = row[f"paths_{side}"]
            assert bool(paths) is (row["change"] != gone)
            for path in paths or ():
                if path["path_kind"] == "Link":
                    assert path["grant_id"] in links
                else:
                    names = ("permission_name", "grant_table", "grant_id")
                    assert (row["user_id"], *(path[name] for name in names)) in known


def cause_rows(row: dict) -> set[tuple[str, int]]:
    """Return the raw rows that a change names as its causes."""
    return {(c.split()[0], int(c.split()[1])) for c in row["causes"]}


def test_D2_the_rows_that_are_named_make_the_change_by_themselves(compared):
    before, after = compared.worlds["before"], compared.worlds["after"]
    rows = [
        r for r in changes_of(compared).items() if r[1]["change"] in CHANGES.values()
    ]
    chance = random.Random(7)
    for key, row in chance.sample(rows, min(12, len(rows))):
        # Both worlds are read by the same definitions.
        assert row["causes"] != ["definition"], (key, row)
        mixed = with_rows_of(before, after, cause_rows(row))
        if row["change"] == "gained":
            # They may close a ring with groups that have not moved.
            is_closed = new_rings(mixed, before, after)
            assert is_closed or key in access_of(mixed), (key, row)
        elif key in access_of(mixed):
            # They give a way of their own, together with rows that have not moved.
            user = row["user_id"]
            states = paths_of(before, user) | paths_of(after, user)
            assert paths_of(mixed, user) - states, (key, row)


def test_D2_every_row_that_is_named_has_come_gone_or_changed(compared):
    staged = {side: stage(world) for side, world in compared.worlds.items()}
    for row in changes_of(compared).values():
        for cause, how in zip(row["causes"], row["how"], strict=True):
            table, number, change = cause.split()
            assert not how or (change, how) == ("went", "no longer delivered")
            is_there = {
                side: int(number) in found.live(table) for side, found in staged.items()
            }
            assert (is_there["before"], is_there["after"]) == {
                "came": (False, True), "went": (True, False), "changed": (True, True),
            }[change], cause  # fmt: skip


def test_D1_rows_are_counted_as_the_secure_datasets_have_them(compared):
    relations = {s: evaluate(w).relations for s, w in compared.worlds.items()}
    entries = compared.asked.secure_datasets_config()["datasets"]
    found = {
        (row["dataset"], row["user_id"]): (
            *(row["rows_gained"], row["rows_lost"], row["rows_came"], row["rows_went"]),
        )
        for row in compared.rows("select * from row_changes")
    }
    wanted: dict[tuple, tuple] = {}
    for name in DATASET_FUNCTIONS:
        keys = entries[name]["unique_key"]
        secure, base = f"vw_secure_dataset_{name}", f"vw_dataset_{name}"

        def of(side: str, relation: str, columns: list[str]) -> set[tuple]:
            at = [COLUMNS[relation].index(column) for column in columns]
            return {tuple(row[i] for i in at) for row in relations[side][relation]}

        rows = {side: of(side, secure, ["user_id", *keys]) for side in relations}
        there = {side: of(side, base, keys) for side in relations}
        gained, lost = rows["after"] - rows["before"], rows["before"] - rows["after"]
        for user in {row[0] for row in gained | lost}:
            mine = [
                {row[1:] for row in of_all if row[0] == user}
                for of_all in (gained, lost)
            ]
            wanted[name, user] = (
                len(mine[0]), len(mine[1]),
                len(mine[0] - there["before"]), len(mine[1] - there["after"]),
            )  # fmt: skip
    assert found == wanted


def move(before: Staging, after: Staging, table: str, key: int) -> str:
    """Return what becomes of a row; one that is switched off is there, but less."""
    ranks = [
        (key in staging.winners[table]) + (key in staging.live(table))
        for staging in (before, after)
    ]
    assert any(ranks)
    changes = {1: "came", 0: "changed", -1: "went"}
    return changes[(ranks[1] > ranks[0]) - (ranks[1] < ranks[0])]


def test_D2_rows_bear_the_raw_rows_that_made_the_change(compared):
    staged = {side: stage(world) for side, world in compared.worlds.items()}
    changes = compared.rows("select * from row_changes")
    for row in changes:
        causes = row["cause_rows"]
        # Both worlds are read by the same definitions.
        assert "definition" not in row["causes"], row
        assert causes == sorted(set(causes)), row
        assert 1 <= len(causes) <= 10, row
        assert not row["cause_rows_left_out"] or len(causes) == 10
        for cause in causes:
            table, key, change = cause.split(" ")
            if table in TABLES:
                assert move(**staged, table=table, key=int(key)) == change, cause
            else:
                # Its key is that of no raw table.
                assert table == "vw_dataset_metadata_objects"
                assert change in ("came", "went", "changed")


def test_D2_the_raw_rows_of_rows_make_their_change_by_themselves(compared):
    before, after = compared.worlds["before"], compared.worlds["after"]
    relations = {
        side: evaluate(world).relations for side, world in compared.worlds.items()
    }
    entries = compared.asked.secure_datasets_config()["datasets"]

    def keys_in(found: dict, relation: str, keys: list[str]) -> set[tuple]:
        at = [COLUMNS[relation].index(key) for key in keys]
        return {tuple(row[i] for i in at) for row in found[relation]}

    def rows_of(found: dict, change: dict) -> set[tuple]:
        relation = f"vw_secure_dataset_{change['dataset']}"
        keys = ["user_id", *entries[change["dataset"]]["unique_key"]]
        rows = keys_in(found, relation, keys)
        return {row for row in rows if row[0] == change["user_id"]}

    whole = [
        row
        for row in compared.rows("select * from row_changes")
        if not row["cause_rows_left_out"] and row["dataset"] != "metadata_objects"
    ]
    for row in random.Random(8).sample(whole, min(6, len(whole))):
        named = {(c.split()[0], int(c.split()[1])) for c in row["cause_rows"]}
        world, user = with_rows_of(before, after, named), row["user_id"]
        found = evaluate(world).relations
        mixed = rows_of(found, row)
        had, has = rows_of(relations["before"], row), rows_of(relations["after"], row)
        if not has - had <= mixed:
            # They end a way to what both states show, in which another one stands in.
            both = access_of(before).keys() & access_of(after).keys()
            gone = both - access_of(world).keys()
            # Or they close a ring with groups that have not moved.
            is_closed = new_rings(world, before, after)
            # Or the row of the base, which both states have, stands on others in each.
            base, keys = f"vw_dataset_{row['dataset']}", entries[row["dataset"]]
            states = [
                keys_in(of, base, keys["unique_key"]) for of in relations.values()
            ]
            lost = set.intersection(*states) - keys_in(found, base, keys["unique_key"])
            is_on_others = {key[1:] for key in has - had - mixed} <= lost
            is_gone = any(key[1] == user for key in gone)
            assert is_on_others or is_closed or is_gone, row
        if (had - has) & mixed:
            states = paths_of(before, user) | paths_of(after, user)
            assert paths_of(world, user) - states, row


def of_ann(before: World, after: World, dataset: str = "tests") -> dict:
    """Return how the rows of the one user changed."""
    found = Compared(before, after).compare().rows("select * from row_changes")
    (row,) = [row for row in found if row["dataset"] == dataset]
    return row


def how_it_went(edit: str = "", *limits: str) -> str | None:
    """Return how the permission went by which the one user loses access."""
    world = nobody_sees() | {"project_permissions": [to_user()]}
    compared = Compared(world, world | {"project_permissions": []})
    tables = compared.asked.repository_tables()
    permissions = tables["project_permissions"]
    columns = permissions["columns"] | dict.fromkeys(limits)
    permissions |= {"holds_for_a_time": bool(limits), "columns": columns}
    compared.asked.repository_tables = lambda: (
        tables | {"project_permissions": permissions}
    )
    if edit:
        compared.run(edit)
    found = compared.compare().rows("select * from access_changes")
    [row] = (row for row in found if row["tier"] == "project")
    assert row["causes"] == ["project_permissions 5 went"]
    [how] = row["how"]
    return how


GONE = """
    insert into after.stg_project_permissions by name
    select * replace (
        false as is_live, {is_deleted} as is_deleted, {on} as deleted_on
    ) from before.stg_project_permissions
"""


def test_F7_a_row_that_is_no_longer_delivered_is_told_from_one_that_is_deleted():
    assert how_it_went() == "no longer delivered"
    deleted = GONE.format(is_deleted="true", on="timestamp '2026-03-04 05:06:07'")
    assert how_it_went(deleted) == "deleted on 2026-03-04 05:06:07"
    assert how_it_went(GONE.format(is_deleted="true", on="null")) == "deleted"
    assert how_it_went(GONE.format(is_deleted="false", on="null")) is None


OUT_OF_TIME = """
    alter table after.stg_project_permissions add column is_live_in_its_time boolean;
    alter table after.stg_project_permissions add column valid_from timestamp;
    alter table after.stg_project_permissions add column valid_until timestamp;
    insert into after.stg_project_permissions by name
    select * replace (false as is_live), {is_in_force} as is_live_in_its_time,
        {since} as valid_from, {until} as valid_until
    from before.stg_project_permissions
"""


@pytest.mark.parametrize(
    ("since", "until", "how"),
    [
        (None, "2026-05-01", "until 2026-05-01 00:00:00"),
        ("2999-01-01", None, "from 2999-01-01 00:00:00"),
        (
            *("2026-04-01", "2026-05-01"),
            "from 2026-04-01 00:00:00 until 2026-05-01 00:00:00",
        ),
    ],
)
def test_D2_a_row_outside_its_time_is_told_from_one_that_is_switched_off(
    since, until, how
):
    """One that begins later has not ended."""
    limits = [
        limit for limit, day in (("valid_from", since), ("valid_until", until)) if day
    ]
    days = {
        name: f"timestamp '{day}'" if day else "null"
        for name, day in (("since", since), ("until", until))
    }
    edit = OUT_OF_TIME.format(is_in_force=True, **days)
    assert how_it_went(edit, *limits) == f"outside its time, {how}"
    edit = OUT_OF_TIME.format(is_in_force=False, **days)
    assert how_it_went(edit, *limits) is None


def test_F7_since_when_a_row_is_not_delivered_says_the_version_that_lacks_it():
    view = "select * from a_versions.stg_users__v20260304050607_0123abcd"
    found = AccessChanges().state("after", "a", [], {"stg_users": view, "x": "select"})
    assert found["written_on"] == {"stg_users": "2026-03-04 05:06:07"}
    said = access_queries.how_it_went("2026-03-04 05:06:07")
    assert "'no longer delivered since 2026-03-04 05:06:07'" in said


def test_D2_a_row_comes_by_itself_or_by_what_it_stands_below():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    row = of_ann(world | {"tests": []}, world)
    assert (row["causes"], row["cause_rows"]) == (["rows"], ["tests 1 came"])
    assert row["cause_rows_left_out"] == 0
    row = of_ann(world, world | {"tests": []})
    assert row["cause_rows"] == ["tests 1 went"]
    # A test of a project that goes is no row any more, though it is there itself.
    gone = world | {"projects": [raw("projects", id=1, is_active="false")]}
    row = of_ann(world, gone)
    assert (row["causes"], row["cause_rows"]) == (
        ["rows", "access"],
        ["projects 1 went"],
    )
    # Nor is one that moves to such a project; and it may move to one of others.
    for active in ("false", "true"):
        other = raw("projects", id=2, name="Other", is_active=active)
        below = world | {"projects": [*world["projects"], other]}
        moved = below | {"tests": [raw("tests", id=1, project_id=2, name="t")]}
        for row in (of_ann(below, moved), of_ann(moved, below)):
            assert row["causes"] == ["rows"]
            assert row["cause_rows"] == ["tests 1 changed"]


def test_D2_what_a_row_has_moved_to_and_is_seen_no_more_is_named_too():
    """By its move alone the row would still be there, and be seen."""
    other = raw("projects", id=2, name="Other")
    world = nobody_sees() | {"project_permissions": [to_user()]}
    world["projects"] = [*world["projects"], other]
    both = world | {"project_permissions": [to_user(), to_user(id=6, project_id=2)]}
    moved = {"tests": [raw("tests", id=1, project_id=2, name="t")]}
    row = of_ann(both, world | moved)
    assert row["causes"] == ["rows", "access"]
    assert row["cause_rows"] == ["project_permissions 6 went", "tests 1 changed"]
    # Who has not seen it there before, loses it by the move.
    assert of_ann(world, world | moved)["cause_rows"] == ["tests 1 changed"]
    # A run is lost, too, if the job that it is of now has moved.
    jobs = [raw("jobs", id=i, project_id=i, name=f"j{i}") for i in (1, 2)]
    ran = {"jobs": jobs, "job_executions": [raw("job_executions", id=3, job_id=1)]}
    away = raw("projects", id=3, name="Away")
    ran["projects"] = [*world["projects"], away]
    of_other = {"job_executions": [raw("job_executions", id=3, job_id=2)]}
    of_other["jobs"] = [jobs[0], jobs[1] | {"project_id": "3"}]
    row = of_ann(both | ran, both | ran | of_other, "job_executions")
    assert row["cause_rows"] == ["job_executions 3 changed", "jobs 2 changed"]
    # It goes with what it has moved to.
    gone = {"projects": [*world["projects"][:1], other | {"is_active": "false"}]}
    row = of_ann(world, world | moved | gone)
    assert row["causes"] == ["rows"]
    assert row["cause_rows"] == ["projects 2 went", "tests 1 changed"]


def test_D2_whatever_a_row_has_come_to_stand_below_is_named_if_it_goes():
    grant = {"id": 7, "meta_data_source_id": 1, "user_id": 1}
    world = nobody_sees() | {
        "data_source_permissions": [
            raw("data_source_permissions", **grant, role_name="ViewMetadata")
        ],
        "meta_schemas": [
            raw("meta_schemas", id=i, meta_data_source_id=1, name=f"s{i}")
            for i in (1, 2)
        ],
        "meta_tables": [raw("meta_tables", id=1, meta_schema_id=1, name="t")],
        "meta_columns": [raw("meta_columns", id=1, meta_table_id=1, name="c")],
    }
    moved = [raw("meta_tables", id=1, meta_schema_id=2, name="t")]
    after = world | {"meta_tables": moved, "meta_schemas": world["meta_schemas"][:1]}
    for dataset in ("columns", "tables"):
        row = of_ann(world, after, dataset)
        assert row["causes"] == ["rows"]
        assert row["cause_rows"] == ["meta_schemas 2 went", "meta_tables 1 changed"]


def test_D2_a_row_comes_by_access_in_a_tier_of_its_dataset_alone():
    grant = {"id": 7, "meta_data_source_id": 1, "user_id": 1}
    of_source = raw("data_source_permissions", **grant, role_name="ViewMetadata")
    world = nobody_sees() | {"data_source_permissions": [of_source]}
    row = of_ann(nobody_sees(), world | {"project_permissions": [to_user()]})
    assert row["causes"] == ["access"]
    assert row["cause_rows"] == ["project_permissions 5 came"]


def test_D2_a_name_that_an_old_run_bears_is_no_cause_of_who_sees_it():
    """The run is another row by it, and who sees it is decided by other columns."""
    ran = raw("test_executions", id=3, test_id=1, test_data_source_id=1)
    source, other = (raw("meta_data_sources", id=1, name=n) for n in ("crm", "old"))
    grant = {"id": 7, "meta_data_source_id": 1, "user_id": 1, "role_name": "Tester"}
    before = nobody_sees() | {"test_executions": [ran], "meta_data_sources": [other]}
    before["data_source_permissions"] = [raw("data_source_permissions", **grant)]
    after = before | {"meta_data_sources": [source]}
    after["project_permissions"] = [to_user()]
    row = of_ann(before, after, "test_executions")
    assert row["causes"] == ["access"]
    assert row["cause_rows"] == ["project_permissions 5 came"]
    # But one that moves to what the user sees is.
    elsewhere = {"test_executions": [ran | {"test_data_source_id": "9"}]}
    row = of_ann(after | elsewhere, after, "test_executions")
    assert row["causes"] == ["rows"]
    assert row["cause_rows"] == ["test_executions 3 changed"]


def test_D2_what_decides_about_a_row_is_what_cases_and_rules_name():
    asked = Asked(yaml.safe_dump(together(), sort_keys=False), Database())
    config, found = asked.secure_datasets_config(), {}
    for name, entry in config["datasets"].items():
        said = said_on_the_way(asked.rules(config), name)
        found[name] = named_in(entry["columns"], said)
    assert found["tables"] == ["data_source_id"]
    assert found["event_history"] == ["context", "project_id", "data_source_id"]
    # By a condition, and by row security.
    assert found["authorized_projects"] == ["project_id"]
    assert "business_unit" in found["executions_by_unit"]


def test_D2_access_that_comes_in_another_way_is_no_cause_of_rows():
    of_group = {"project_permissions": [to_user(user_id=None, user_group_id=1)]}
    before = nobody_sees() | of_group | {"tests": []}
    after = nobody_sees() | {"project_permissions": [to_user()]}
    found = Compared(before, after).compare()
    (access,) = changes_of(found).values()
    assert access["change"] == "other access_type"
    (row,) = found.rows("select * from row_changes where dataset = 'tests'")
    assert (row["causes"], row["cause_rows"]) == (["rows"], ["tests 1 came"])


def test_D2_what_gives_rows_is_named_alone_where_other_access_comes_in_another_way():
    before = hundred_and_one()
    before["project_permissions"] = [to_user(user_id=None, user_group_id=1)]
    after = before | {"project_permissions": [to_user(), OF_CARDS]}
    found = Compared(before, after).compare()
    changes = sorted(row["change"] for row in changes_of(found).values())
    assert changes == ["gained", "other access_type"]
    (row,) = found.rows("select * from row_changes")
    assert (row["rows_gained"], row["causes"]) == (1, ["access"])
    assert row["cause_rows"] == ["project_permissions 6 came"]


def test_D2_a_grant_of_another_right_is_no_cause():
    before = nobody_sees() | {"project_permissions": [to_user()]}
    grants = [
        raw("data_source_permissions", id=id_number, meta_data_source_id=1, user_id=1,
            role_name=role)
        for id_number, role in [(7, "ViewMetadata"), (8, "ViewTestResults")]
    ]  # fmt: skip
    after = before | {"data_source_permissions": grants}
    changes = changes_of(Compared(before, after).compare())
    assert {key[0]: row["causes"] for key, row in changes.items()} == {
        "data_source": ["data_source_permissions 7 came"],
        "results": ["data_source_permissions 8 came"],
    }


def hundred_and_one() -> World:
    """A world of two projects: a hundred tests in one, and one in the other."""
    world = nobody_sees() | {"project_permissions": [to_user()]}
    world["projects"] = [
        raw("projects", id=1, name="Core"), raw("projects", id=2, name="Cards"),
    ]  # fmt: skip
    world["tests"] = [
        *(raw("tests", id=i, project_id=1, name=f"t{i}") for i in range(1, 101)),
        raw("tests", id=200, project_id=2, name="x"),
    ]
    return world


OF_CARDS = to_user(id=6, project_id=2)


def test_D2_what_the_raw_rows_do_not_make_is_by_definition_beside_them():
    before = hundred_and_one()
    after = before | {"project_permissions": [to_user(), OF_CARDS]}
    compared = Compared(before, after)
    # As if a condition had hidden these.
    compared.run("delete from before.vw_secure_dataset_tests where project_id = 1")
    (row,) = compared.compare().rows("select * from row_changes")
    assert (row["rows_gained"], row["causes"]) == (101, ["access", "definition"])
    assert row["cause_rows"] == ["project_permissions 6 came"]
    # A row of the base that has come is one cause, and no other rows' one.
    fewer = before | {"tests": before["tests"][1:]}
    compared = Compared(fewer, before)
    compared.run("delete from before.vw_secure_dataset_tests where test_id > 50")
    (row,) = compared.compare().rows("select * from row_changes")
    assert (row["rows_gained"], row["causes"]) == (51, ["rows", "definition"])
    assert row["cause_rows"] == ["tests 1 came"]
    # The other way round.
    compared = Compared(after, before)
    compared.run("delete from after.vw_secure_dataset_tests where test_id > 50")
    (row,) = compared.compare().rows("select * from row_changes")
    assert (row["rows_lost"], row["causes"]) == (51, ["access", "definition"])


def test_D2_access_that_gives_none_of_the_rows_is_not_their_cause():
    before = hundred_and_one()
    before["tests"] = before["tests"][:1]
    after = before | {"project_permissions": [to_user(), OF_CARDS]}
    compared = Compared(before, after)
    compared.run("delete from before.vw_secure_dataset_tests")
    (row,) = compared.compare().rows("select * from row_changes")
    assert (row["rows_gained"], row["causes"]) == (1, ["definition"])
    assert row["cause_rows"] == []


def test_D2_access_that_is_lost_gives_no_row():
    after = hundred_and_one()
    compared = Compared(after | {"project_permissions": [to_user(), OF_CARDS]}, after)
    # As if the project's tests had come to be everybody's.
    seen = "before.vw_secure_dataset_tests where test_id = 200"
    compared.run(f"insert into after.vw_secure_dataset_tests select * from {seen}")
    compared.run(f"delete from {seen}")
    (row,) = compared.compare().rows("select * from row_changes")
    assert (row["rows_gained"], row["rows_lost"]) == (1, 0)
    assert (row["causes"], row["cause_rows"]) == (["definition"], [])


def test_D2_access_in_another_case_than_the_rows_is_not_their_cause():
    """An event of a data source is for its users, whatever project it names."""
    before = hundred_and_one() | {"tests": []}
    grant = {"id": 7, "meta_data_source_id": 1, "user_id": 1}
    before["data_source_permissions"] = [
        raw("data_source_permissions", **grant, role_name="ViewMetadata")
    ]
    told = {"context": "Data Source", "meta_data_source_id": 1, "project_id": 2}
    before["events"] = [raw("events", id=1, event_name="Loaded", **told)]
    after = before | {"project_permissions": [to_user(), OF_CARDS]}
    compared = Compared(before, after)
    compared.run("delete from before.vw_secure_dataset_event_history")
    (row,) = compared.compare().rows("select * from row_changes")
    assert (row["rows_gained"], row["causes"]) == (1, ["definition"])


def test_D2_a_new_column_is_by_definition_whatever_else_has_changed():
    before = hundred_and_one()
    after = before | {"project_permissions": [to_user(), OF_CARDS]}
    compared = named_otherwise(Compared(before, after), "test_title")
    # Other roles show no column.
    compared.run("insert into after.vw_secure_user_roles values (1, 17, 'Risk')")
    (row,) = compared.compare().rows("select * from row_changes")
    assert row["causes"] == ["access", "definition"]


def test_D2_the_first_raw_rows_are_named_and_the_others_counted():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    tests = [raw("tests", id=i, project_id=1, name="t") for i in range(1, 14)]
    row = of_ann(world | {"tests": []}, world | {"tests": tests})
    named = sorted(f"tests {i} came" for i in range(1, 14))
    assert (row["cause_rows"], row["cause_rows_left_out"]) == (named[:10], 3)


def test_D2_roles_bear_the_memberships_and_groups_that_made_them():
    before = nobody_sees() | {"project_permissions": [to_user()]}

    def causes(after: World, role: str) -> list[str]:
        compared = Compared(before, after)
        # As if a condition of the role showed the row.
        compared.run("delete from before.vw_secure_dataset_tests")
        compared.run(
            f"insert into after.vw_secure_user_roles values (1, null, '{role}')"
        )
        (row,) = compared.compare().rows("select * from row_changes")
        assert row["causes"] == ["roles"]
        return row["cause_rows"]

    groups = [*before["user_groups"], raw("user_groups", id=3, name="Desk")]
    members = before["user_group_members"]
    joined = raw("user_group_members", id=2, user_group_id=3, user_id=1)
    after = before | {"user_groups": groups, "user_group_members": [*members, joined]}
    assert causes(after, "Desk") == ["user_group_members 2 came", "user_groups 3 came"]
    named = [before["user_groups"][0], raw("user_groups", id=2, name="Desk")]
    assert causes(before | {"user_groups": named}, "Desk") == ["user_groups 2 changed"]
    holds = raw("user_global_roles", id=4, user_id=1, role_name="Global.SecurityAdmin")
    after = before | {"user_global_roles": [holds]}
    assert causes(after, "Global Security Admin") == ["user_global_roles 4 came"]


def test_D5_the_same_state_twice_has_no_change():
    world = random_world(3)
    compared = Compared(world, world).compare()
    for model in MODELS:
        assert compared.rows(f"select * from {model}") == []


def test_D2_another_definition_over_the_same_rows_is_named_so():
    world = random_world(4)
    compared = Compared(world, world)
    # As if a role had come to carry less: rights are gone with their paths.
    for relation, condition in (
        ("explained_access_paths", "permission_name = 'View Test Results'"),
        ("vw_secure_user_results_access", "true"),
    ):
        compared.run(f"delete from after.{relation} where {condition}")
    compared.compare()
    rows = compared.rows("select * from access_changes")
    assert rows
    assert {(r["tier"], r["change"]) for r in rows} == {("results", "lost")}
    assert {tuple(row["causes"]) for row in rows} == {("definition",)}


def test_D2_rows_that_explain_one_path_of_two_are_not_the_cause():
    before = nobody_sees() | {"project_permissions": [to_user()]}
    after = nobody_sees() | {"project_permissions": [to_user(), to_user(id=6)]}
    compared = Compared(before, after)
    # As if a role had come to carry more: its right is gained without the new row too.
    for relation in ("explained_access_paths", "vw_secure_user_project_access"):
        compared.run(f"delete from before.{relation}")
    (row,) = changes_of(compared.compare()).values()
    assert (row["change"], len(row["paths_after"])) == ("gained", 2)
    assert row["causes"] == ["definition"]


def test_D2_what_the_holding_group_stands_below_is_no_cause():
    before = nobody_sees()
    before["user_groups"].append(raw("user_groups", id=3, name="Bank"))
    before["project_permissions"] = [to_user(user_id=None, user_group_id=2)]
    staff, _, bank = before["user_groups"]
    moved = raw("user_groups", id=2, name="Risk", parent_user_group_id=3)
    compared = Compared(before, before | {"user_groups": [staff, moved, bank]})
    # As if a role had come to carry more.
    for relation in ("explained_access_paths", "vw_secure_user_project_access"):
        compared.run(f"delete from before.{relation}")
    (row,) = changes_of(compared.compare()).values()
    assert (row["change"], row["causes"]) == ("gained", ["definition"])


def ring() -> World:
    """A user whose group is below two that are each other's parent."""
    world = nobody_sees()
    world["user_groups"] = [
        raw("user_groups", id=1, name="Staff", parent_user_group_id=2),
        raw("user_groups", id=2, name="Risk", parent_user_group_id=3),
        raw("user_groups", id=3, name="Bank", parent_user_group_id=2),
        raw("user_groups", id=4, name="Lone", parent_user_group_id=4),
    ]
    world["project_permissions"] = [to_user(user_id=None, user_group_id=3)]
    return world


def test_D2_a_link_that_a_broken_ring_lets_through_is_named():
    before = ring()
    after = ring() | {"user_groups": [*ring()["user_groups"][:2]]}
    after["user_groups"].append(raw("user_groups", id=3, name="Bank"))
    (row,) = changes_of(Compared(before, after).compare()).values()
    assert (row["change"], row["causes"]) == ("gained", ["user_groups 3 changed"])
    (row,) = changes_of(Compared(after, before).compare()).values()
    assert (row["change"], row["causes"]) == ("lost", ["user_groups 3 changed"])


def test_D2_a_ring_is_broken_by_any_group_of_it():
    world = nobody_sees()
    parents = {1: 2, 2: 3, 3: 4, 4: 5, 5: 2}
    world["project_permissions"] = [to_user(user_id=None, user_group_id=3)]

    def below(parents: dict[int, int | None]) -> World:
        groups = [
            raw("user_groups", id=i, name=f"Group {i}", parent_user_group_id=parent)
            for i, parent in parents.items()
        ]
        return world | {"user_groups": groups}

    # Neither the user's group nor the one that holds the right is it.
    found = Compared(below(parents), below(parents | {5: None})).compare()
    (row,) = changes_of(found).values()
    assert (row["change"], row["causes"]) == ("gained", ["user_groups 5 changed"])


def test_D2_a_grant_that_gives_another_role_has_changed():
    def holding(role: str) -> World:
        grant = {"id": 7, "meta_data_source_id": 1, "user_id": 1, "role_name": role}
        return nobody_sees() | {
            "data_source_permissions": [raw("data_source_permissions", **grant)]
        }

    found = Compared(holding("CreateTests"), holding("ViewMetadata")).compare()
    (row,) = changes_of(found).values()
    assert row["change"] == "gained"
    assert row["causes"] == ["data_source_permissions 7 changed"]


def test_D1_a_tier_or_a_dataset_that_only_one_state_has_is_gained_or_lost_whole():
    world = random_world(5)
    for only, change in (("before", "lost"), ("after", "gained")):
        other = "after" if only == "before" else "before"
        compared = Compared(world, world)
        compared.run(
            f"delete from {other}.state_definitions where name in ('project', 'tests')"
        )
        compared.run(f"drop table {other}.vw_secure_dataset_tests")
        compared.compare()
        rows = changes_of(compared)
        held = {key for key in access_of(world) if key[0] == "project"}
        assert set(rows) == held
        assert {(r["change"], *r["causes"]) for r in rows.values()} == {
            (change, "definition")
        }
        found = compared.rows("select * from row_changes")
        assert {row["dataset"] for row in found} == {"tests"}
        seen = evaluate(world).relations["vw_secure_dataset_tests"]
        assert sum(row[f"rows_{change}"] for row in found) == len(seen)


def test_D1_rows_are_not_compared_with_a_state_without_secure_datasets():
    world = random_world(5)
    compared = Compared(world, random_world(6))
    for name in DATASET_FUNCTIONS:
        compared.run(f"drop table after.vw_secure_dataset_{name}")
    compared.compare()
    assert compared.rows("select * from row_changes") == []
    assert compared.rows("select * from access_changes")


def test_D1_a_dataset_that_neither_state_has_built_is_named():
    compared = Compared(one_test(), one_test())
    for side in ("before", "after"):
        compared.run(f"drop table {side}.vw_secure_dataset_tests")
    compared.run("drop table after.vw_secure_dataset_jobs")
    states = compared.states()
    assert AccessChanges().datasets_not_there(states) == ["tests"]
    report = compared.compare().report_of_past_states("one", "other")
    assert "neither state has them built: `tests`." in report


@pytest.mark.parametrize("side", ["before", "after"])
def test_D1_a_dataset_that_one_state_has_not_built_is_no_gain_and_no_loss(side):
    compared = Compared(random_world(5), random_world(6))
    compared.run(f"drop table {side}.vw_secure_dataset_tests")
    compared.compare()
    assert AccessChanges().not_built(compared.states()) == {"tests": side}
    found = compared.rows("select distinct dataset from row_changes")
    assert found and {"dataset": "tests"} not in found
    report = compared.report_of_past_states("one", "other")
    assert f"one has not built them: `tests` (not in `{side}`)." in report


def test_D1_a_renamed_dataset_is_held_against_itself():
    """Where another one has its name still, both are compared under their own names."""
    worlds = random_world(5), random_world(6)
    totals = "select sum(rows_gained) as g, sum(rows_lost) as l from row_changes"
    (same,) = Compared(*worlds).compare().rows(f"{totals} where dataset = 'tests'")
    compared = Compared(*worlds)
    renamed = (
        'replace(definition, \'"renamed_from": null\', \'"renamed_from": "tests"\')'
    )
    relation = "replace({}, 'vw_secure_dataset_tests', 'vw_secure_dataset_new')"
    compared.run(
        "update after.state_definitions set name = 'new', definition ="
        f" {relation.format(renamed)} where name = 'tests'"
    )
    compared.run(
        "alter table after.vw_secure_dataset_tests rename to vw_secure_dataset_new"
    )
    compared.compare()
    (row,) = compared.rows(f"{totals} where dataset = 'new'")
    assert row == same
    assert not compared.rows("select * from row_changes where dataset = 'tests'")


def test_D1_values_are_counted_where_a_mask_is_put_on_and_taken_off():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    ids = range(1, 5)
    world["tests"] = [raw("tests", id=i, project_id=1, name=f"t{i}") for i in ids]
    compared = Compared(world, world)
    masked = '"masked": ["test_name"]'
    for side, hidden in (("before", "1"), ("after", "2, 3")):
        compared.run(
            f"update {side}.state_definitions set definition ="
            f" replace(definition, '\"masked\": []', '{masked}')"
            " where name = 'tests'"
        )
        compared.run(
            f"update {side}.vw_secure_dataset_tests set test_name = null"
            f" where test_id in ({hidden})"
        )
    compared.compare()
    (row,) = compared.rows("select * from row_changes")
    assert (row["values_newly_covered"], row["values_newly_shown"]) == (2, 1)
    assert (row["rows_gained"], row["rows_lost"], row["user_id"]) == (0, 0, 1)
    assert row["causes"] == ["definition"]
    assert (row["cause_rows"], row["cause_rows_left_out"]) == ([], 0)


def one_test() -> World:
    """A world of one user who sees one test."""
    return nobody_sees() | {
        "project_permissions": [to_user()],
        "tests": [raw("tests", id=1, project_id=1, name="t", test_type="Template")],
    }


def masked_before(compared: Compared, *columns: str, base: str | None = None) -> None:
    """Mask columns of the tests in the state before."""
    said = ", ".join(f'"{column}"' for column in columns)
    compared.run(
        "update before.state_definitions set definition ="
        f" replace(definition, '\"masked\": []', '\"masked\": [{said}]')"
        " where name = 'tests'"
    )
    for column in columns:
        compared.run(f"update before.vw_secure_dataset_tests set {column} = null")


def masked_after(compared: Compared, given: str) -> None:
    """Mask the names of the tests in the state after."""
    compared.run(
        "update after.state_definitions set definition ="
        ' replace(definition, \'"masked": []\', \'"masked": ["test_name"]\')'
        " where name = 'tests'"
    )
    compared.run(f"update after.vw_secure_dataset_tests set test_name = {given}")


def test_D1_a_mask_is_noticed_also_where_the_base_has_another_name():
    compared = Compared(one_test(), one_test())
    masked_before(compared, "test_name")
    compared.run("alter table after.vw_dataset_tests rename to vw_all_tests")
    compared.run(
        "update after.state_definitions set definition ="
        " replace(definition, '\"vw_dataset_tests\"', '\"vw_all_tests\"')"
    )
    (row,) = compared.compare().rows("select * from row_changes")
    assert (row["dataset"], row["values_newly_shown"]) == ("tests", 1)


@pytest.mark.parametrize("sides", [("before",), ("before", "after")], ids=str)
def test_D4_a_mask_is_noticed_also_where_a_state_has_not_the_base(sides):
    """As where a project builds it in another schema: what was shown is not known."""
    compared = Compared(one_test(), one_test())
    masked_before(compared, "test_name")
    for side in sides:
        compared.run(f"drop table {side}.vw_dataset_tests")
    (row,) = compared.compare().rows("select * from row_changes")
    assert (row["dataset"], row["values_masked_otherwise"]) == ("tests", 1)
    assert row["values_newly_shown"] == row["values_newly_covered"] == 0
    limit = {"limit_name": "a", "dataset": "tests", "most_rows_gain": 0}
    (found,) = limited(compared, limit)
    assert (found["found"], found["is_exceeded"]) == ("1 row is gained", True)


def test_D4_a_mask_that_gives_something_else_counts_as_a_gain():
    """Or a mask would be loosened, letter by letter, past every limit."""
    compared = Compared(one_test(), one_test())
    masked_before(compared, "test_name")
    masked_after(compared, "'t...'")
    (row,) = compared.compare().rows("select * from row_changes")
    assert row["values_newly_shown"] == row["values_newly_covered"] == 0
    assert row["values_masked_otherwise"] == 1
    limit = {"limit_name": "a", "dataset": "tests", "most_rows_gain": 0}
    (found,) = limited(compared, limit)
    assert (found["found"], found["is_exceeded"]) == ("1 row is gained", True)
    # Another value of the base, under the same mask.
    compared.run("update after.vw_dataset_tests set test_name = 'another'")
    assert compared.compare().rows("select * from row_changes") == []


def named_otherwise(
    compared: Compared, new: str, old: str = "test_name", given: str | None = None
) -> Compared:
    """Call a column of the tests otherwise in the state after, and mask it, or not."""
    for relation in ("vw_secure_dataset_tests", "vw_dataset_tests"):
        compared.run(f"alter table after.{relation} rename {old} to {new}")
    masked = f'["{new}"]' if given else "[]"
    for old_text, new_text in (
        (f'"{old}"', f'"{new}"'), ('"masked": []', f'"masked": {masked}'),
    ):  # fmt: skip
        compared.run(
            "update after.state_definitions set definition ="
            f" replace(definition, '{old_text}', '{new_text}') where name = 'tests'"
        )
    if given:
        compared.run(f"update after.vw_secure_dataset_tests set {new} = {given}")
    return compared


VALUES = ("values_newly_covered", "values_newly_shown", "values_masked_otherwise")


@pytest.mark.parametrize(
    ("masked_as", "given", "values"),
    [
        # The state before covered the value, or showed it under its other name.
        ("'***'", None, (0, 1, 0)),
        (None, None, (1, 1, 0)),
        # What the mask gives was not seen before; null gives nothing.
        (None, "'t...'", (1, 0, 1)),
        (None, "null", (1, 0, 0)),
    ],
)
def test_D1_a_column_of_another_name_shows_other_values(masked_as, given, values):
    compared = Compared(one_test(), one_test())
    if masked_as:
        masked_before(compared, "test_name")
        compared.run(
            f"update before.vw_secure_dataset_tests set test_name = {masked_as}"
        )
    named_otherwise(compared, "test_title", given=given)
    (row,) = compared.compare().rows("select * from row_changes")
    assert tuple(row[value] for value in VALUES) == values
    assert (row["rows_gained"], row["rows_lost"]) == (0, 0)
    assert row["causes"] == ["definition"]
    report = compared.report_of_past_states("one", "other")
    assert "`tests` newly shows `test_title` and no longer shows `test_name`." in report
    assert "No one's access changes" not in report


@pytest.mark.parametrize("given", [None, "'t...'"])
def test_D1_a_new_column_is_noticed_also_where_a_state_has_not_the_base(given):
    compared = Compared(one_test(), one_test())
    named_otherwise(compared, "test_title", given=given)
    compared.run("drop table after.vw_dataset_tests")
    (row,) = compared.compare().rows("select * from row_changes")
    wanted = (1, 0, 1) if given else (1, 1, 0)
    assert tuple(row[value] for value in VALUES) == wanted


def test_D4_a_new_column_counts_as_a_gain_and_is_approved_by_its_name():
    limit = {"limit_name": "a", "dataset": "tests", "most_rows_gain": 0}

    def changes(new: str, before: World, given: str | None = None) -> str:
        compared = Compared(before, one_test())
        if new != "test_name":
            named_otherwise(compared, new, given=given)
        (row,) = limited(compared.compare(), limit)
        assert row["found"] == "1 row is gained"
        return row["changes"]

    # Also where the whole row is gained.
    nothing = one_test() | {"project_permissions": []}
    for before in (one_test(), nothing):
        found = [changes(new, before) for new in ("one", "one", "other")]
        assert found[0] == found[1] != found[2]
        assert changes("one", before, "'t.'") != changes("one", before, "'te.'")
    assert changes("one", nothing) != changes("test_name", nothing)


def test_D4_a_column_that_goes_counts_as_a_loss():
    compared = named_otherwise(Compared(one_test(), one_test()), "test_title")
    limit = {"limit_name": "a", "dataset": "tests", "most_rows_lose": 0}
    (row,) = limited(compared.compare(), limit)
    assert (row["found"], row["is_exceeded"]) == ("1 row is lost", True)


LAYERED = (
    document_of(PRODUCTS)
    + """
    named_tests:
        base: vw_secure_dataset_tests
        columns: [test_id, test_name]
        unique_key: [test_id]
"""
)
MASKED = "policies: [{role: Risk, resource: tests.test_name, mask: 'null'}]"


def test_D1_a_dataset_over_another_one_is_counted_by_its_own_rows():
    """Whose rows the base has too: each user's own."""
    world = one_test() | {
        "users": [raw("users", id=i, login_name=f"u{i}") for i in (1, 2, 3)],
        "project_permissions": [to_user(id=i, user_id=i) for i in (1, 2, 3)],
    }
    before = world | {"project_permissions": world["project_permissions"][:2]}
    compared = Compared(before, world, LAYERED)
    for side in ("before", "after"):
        compared.run(
            f"create table {side}.vw_secure_dataset_named_tests as select test_id,"
            f" test_name, user_id, access_type from {side}.vw_secure_dataset_tests"
        )
    found = compared.compare().rows(
        "select * from row_changes where dataset = 'named_tests'"
    )
    assert [(r["user_id"], r["rows_gained"]) for r in found] == [(3, 1)]


def test_D2_what_decides_below_counts_though_it_is_not_shown_above():
    """The project that a test is of, and what a mask makes of another column."""
    rules = """
policies:
    - {role: Risk, resource: tests.test_name, mask: "concat('x', test_type)"}
    - {role: Risk, resource: named_tests, condition: "test_name like 'x%'"}
"""
    asked = Asked(LAYERED + rules, Database())
    rows = asked.database.rows(asked.state_definitions_query())
    (definition,) = [r["definition"] for r in rows if r["name"] == "named_tests"]
    deciding = set(json.loads(definition)["deciding"])
    assert {"project_id", "test_name", "test_type"} <= deciding
    assert "created_by" not in deciding
    # It moves to a project of others: its own row is the cause.
    world = one_test()
    other = {"projects": [*world["projects"], raw("projects", id=2, name="Other")]}
    moved = {"tests": [world["tests"][0] | {"project_id": "2"}]}
    compared = Compared(world | other, world | other | moved, LAYERED)
    for side in ("before", "after"):
        compared.run(
            f"create table {side}.vw_secure_dataset_named_tests as select test_id,"
            f" test_name, user_id, access_type from {side}.vw_secure_dataset_tests"
        )
    found = compared.compare().rows("select * from row_changes")
    assert {row["dataset"] for row in found} == {"tests", "named_tests"}
    for row in found:
        assert (row["causes"], row["cause_rows"]) == (["rows"], ["tests 1 changed"])


def test_D1_a_mask_below_is_noticed_in_the_dataset_over_it():
    compared = Compared(one_test(), one_test(), LAYERED + MASKED)
    masked_before(compared, "test_name")
    for side in ("before", "after"):
        compared.run(
            f"create table {side}.vw_secure_dataset_named_tests as select test_id,"
            f" test_name, user_id, access_type from {side}.vw_secure_dataset_tests"
        )
    found = compared.compare().rows("select * from row_changes order by dataset")
    assert [(r["dataset"], r["values_newly_shown"]) for r in found] == [
        ("named_tests", 1), ("tests", 1),
    ]  # fmt: skip


# Limits and approvals


LIMIT = dict.fromkeys(states.COLUMNS[states.LIMITS])


def limited(
    compared: Compared, *limits: dict, approvals: tuple[tuple, ...] = ()
) -> list[dict]:
    """Return what limits find of the changes."""
    rows = [tuple((LIMIT | limit).values()) for limit in limits]
    types = {c: "BIGINT" if c.startswith("most") else "VARCHAR" for c in LIMIT}
    compared.database.table(states.LIMITS, LIMIT, rows, types)
    columns = ("limit_name", "changes", "approver", "expires_on")
    types = dict.fromkeys(columns, "VARCHAR") | {"expires_on": "DATE"}
    compared.database.table(states.APPROVALS, columns, list(approvals), types)
    today, sides = compared.asked.judged_on(), ["before", "after"]
    query = AccessChanges().limits(str, compared.states(), sides, today)
    return compared.rows(f"select * from ({query}) as found order by limit_name")


@pytest.fixture(scope="module")
def moved() -> Compared:
    """One user who gains a project, and its test, and loses nothing."""
    world = nobody_sees() | {"project_permissions": [to_user()]}
    return Compared(nobody_sees(), world).compare()


@pytest.mark.parametrize(
    ("limit", "found", "allowed"),
    [
        ({"tier": "project", "most_users_gain": 0}, "1 user gains", "0"),
        ({"tier": "project", "most_users_gain": 1}, "", ""),
        ({"tier": "project", "most_users_lose": 0}, "", ""),
        ({"tier": "*", "object": "project_id=1", "most_users_gain": 0},
         "1 user gains", "0"),
        ({"tier": "*", "object": "project_id=*", "most_users_gain": 0},
         "1 user gains", "0"),
        ({"dataset": "tests", "most_rows_gain": 0}, "1 row is gained", "0"),
        ({"dataset": "*sts", "most_rows_gain": 0}, "1 row is gained", "0"),
        ({"dataset": "te*", "most_rows_gain": 0, "most_users_gain": 0},
         "1 user gains, 1 row is gained", "0, 0"),
        ({"dataset": "tests", "most_rows_lose": 0}, "", ""),
    ],
)  # fmt: skip
def test_D4_a_limit_is_exceeded_by_more_than_it_says(moved, limit, found, allowed):
    (row,) = limited(moved, {"limit_name": "a"} | limit)
    assert (row["found"], row["allowed"]) == (found, allowed)
    assert row["is_exceeded"] is bool(found)


@pytest.mark.parametrize(
    "limit",
    [
        {"tier": "results", "most_users_gain": 0},
        {"tier": "project", "object": "project_id=11", "most_users_gain": 0},
        {"tier": "projec", "most_users_gain": 0},
        {"dataset": "jobs*", "most_rows_gain": 0},
        {"tier": "project", "role": "Nobody", "most_users_gain": 0},
    ],
)
def test_D4_a_limit_is_about_nothing_else(moved, limit):
    assert limited(moved, {"limit_name": "a"} | limit) == []


@pytest.mark.parametrize(
    ("kind", "old", "limit"),
    [
        ("dataset", "tests", {"dataset": "TESTS", "most_rows_gain": 0}),
        ("dataset", "tests", {"dataset": "tests*", "most_rows_gain": 0}),
        # Others that it names are there still.
        ("dataset", "tests", {"dataset": "te*", "most_rows_gain": 0}),
        ("tier", "project", {"tier": "project", "most_users_gain": 0}),
        ("tier", "project",
         {"tier": "project", "object": "project_id=1", "most_users_gain": 0}),
    ],
)  # fmt: skip
def test_D4_a_limit_is_not_passed_by_another_name(kind, old, limit):
    world = nobody_sees() | {"project_permissions": [to_user()]}
    compared = Compared(nobody_sees(), world)
    compared.run(
        "update after.state_definitions set name = 'another'"
        f" where kind = '{kind}' and name = '{old}'"
    )
    compared.compare()
    (row,) = limited(compared, {"limit_name": "a"} | limit)
    assert row["is_exceeded"]
    # What is defined and no longer built has gone, too.
    compared.run(
        "insert into after.state_definitions select kind, 'another', definition,"
        f" product_version from before.state_definitions where kind = '{kind}'"
        f" and name = '{old}'"
    )
    compared.run(
        "update after.state_definitions set definition = replace(definition,"
        f" '\"relation\": \"', '\"relation\": \"not_') where name = '{old}'"
    )
    (row,) = limited(compared, {"limit_name": "a"} | limit)
    assert row["is_exceeded"]
    # What is new is no other limit's, whose own is there still.
    of_others = limit | {kind: "reports" if kind == "tier" else "jobs"}
    assert limited(compared, {"limit_name": "a"} | of_others) == []


def test_D4_what_is_new_and_bears_the_name_too_counts_once():
    world = nobody_sees() | {"project_permissions": [to_user()]}
    compared = Compared(nobody_sees(), world)
    compared.run(
        "update after.state_definitions set name = 'test_list'"
        " where kind = 'dataset' and name = 'tests'"
    )
    limit = {"limit_name": "a", "dataset": "te*", "most_rows_gain": 1}
    (row,) = limited(compared.compare(), limit)
    assert not row["is_exceeded"]
    (row,) = limited(compared, limit | {"most_rows_gain": 0})
    assert row["found"] == "1 row is gained"


@pytest.mark.parametrize("role", ["Risk", "{group: 17}", " {group:17 } "])
def test_D4_a_limit_may_be_about_who_holds_a_role(moved, role):
    limit = {"limit_name": "a", "tier": "project", "role": role, "most_users_gain": 0}
    assert limited(moved, limit) == []
    moved.run("insert into after.vw_secure_user_roles values (1, 17, 'Risk')")
    try:
        (row,) = limited(moved, limit)
        others = [limited(moved, limit | {"role": r}) for r in ("17", "{group: 1}")]
    finally:
        moved.run("delete from after.vw_secure_user_roles")
    assert row["is_exceeded"]
    assert others == [[], []]


def test_D4_a_limit_about_a_role_is_about_rows_for_everyone_too():
    """Who holds the role reads them as everybody does."""
    event = raw("events", id=1, context="Global", event_name="Signed in")
    limit = {"dataset": "event_history", "role": "Risk", "most_rows_gain": 0}
    compared = Compared(nobody_sees(), nobody_sees() | {"events": [event]}).compare()
    (row,) = limited(compared, {"limit_name": "a"} | limit)
    assert (row["found"], row["is_exceeded"]) == ("1 row is gained", True)


def test_D4_an_approval_excuses_exactly_these_changes_until_its_day(moved):
    limit = {"limit_name": "a", "tier": "*", "most_users_gain": 0}
    (row,) = limited(moved, limit)
    assert row["approver"] is None
    changes = row["changes"]

    def approver(*approval: str, over: Compared = moved) -> str | None:
        (found,) = limited(over, limit, approvals=(approval,))
        return found["approver"]

    assert approver("a", changes, "Ines", "2999-01-01") == "Ines"
    # On its day it still does: the sandbox has a day of its own.
    assert approver("a", changes, "Ines", "2026-11-01") == "Ines"
    assert approver("a", changes, "Ines", "2026-10-31") is None
    assert approver("b", changes, "Ines", "2999-01-01") is None
    # One more user gains the same.
    world = nobody_sees() | {"project_permissions": [to_user()]}
    world["users"] = [*world["users"], raw("users", id=2, login_name="bob")]
    before = nobody_sees() | {"users": world["users"]}
    world["project_permissions"].append(to_user(id=6, user_id=2))
    further = Compared(before, world).compare()
    assert approver("a", changes, "Ines", "2999-01-01", over=further) is None


def test_D4_rows_are_approved_as_exactly_these_rows():
    limit = {"limit_name": "a", "dataset": "tests", "most_rows_gain": 0}

    def changes(test_id: int) -> str:
        world = nobody_sees() | {
            "project_permissions": [to_user()],
            "tests": [raw("tests", id=test_id, project_id=1, name="t")],
        }
        before = world | {"project_permissions": []}
        (row,) = limited(Compared(before, world).compare(), limit)
        assert row["found"] == "1 row is gained"
        return row["changes"]

    assert changes(1) == changes(1) != changes(2)


def test_D4_values_are_approved_as_those_of_exactly_these_columns():
    limit = {"limit_name": "a", "dataset": "tests", "most_rows_gain": 0}

    def changes(column: str) -> str:
        compared = Compared(one_test(), one_test())
        masked_before(compared, column)
        (row,) = limited(compared.compare(), limit)
        assert row["found"] == "1 row is gained"
        return row["changes"]

    assert changes("test_name") == changes("test_name") != changes("test_type")


def test_D4_a_mask_is_approved_as_what_it_gives():
    """Or an approved mask would be loosened under the approval."""
    limit = {"limit_name": "a", "dataset": "tests", "most_rows_gain": 0}

    def changes(given: str) -> str:
        compared = Compared(one_test(), one_test())
        masked_before(compared, "test_name")
        masked_after(compared, given)
        (row,) = limited(compared.compare(), limit)
        assert row["found"] == "1 row is gained"
        return row["changes"]

    assert changes("'...'") == changes("'...'") != changes("'t...'")


@pytest.mark.parametrize("is_new", [False, True], ids=["rows", "dataset"])
def test_D4_rows_that_are_gained_masked_are_approved_masked(is_new):
    """Or the mask would be loosened, or go, under the approval."""
    limit = {"limit_name": "a", "dataset": "tests", "most_rows_gain": 0}

    def changes(given: str | None, name: str = "t") -> str:
        world = one_test()
        world["tests"] = [raw("tests", id=1, project_id=1, name=name)]
        compared = Compared(world | {"project_permissions": []}, world)
        if given:
            masked_after(compared, given)
        if is_new:
            compared.run("delete from before.state_definitions where name = 'tests'")
            compared.run("drop table before.vw_secure_dataset_tests")
        (row,) = limited(compared.compare(), limit)
        assert row["found"] == "1 row is gained"
        return row["changes"]

    masked = changes("'...'")
    assert masked == changes("'...'", "another")
    assert masked not in {changes("'t...'"), changes("null"), changes(None)}
    assert changes("null") not in {changes("''"), changes(None)}
    # What no mask covers was approved whole.
    assert changes(None) == changes(None, "another")


@pytest.mark.parametrize(
    "limit",
    [
        {"tier": "Project"},
        {"tier": "\u00a0project\t"},
        {"tier": "project", "object": "Project_id=1"},
        {"tier": "*roj*"},
        {"tier": "**"},
        {"tier": "project", "dataset": "\u00a0"},
    ],
    ids=str,
)
def test_D4_a_limit_is_not_evaded_by_how_it_is_spelled(moved, limit):
    (row,) = limited(moved, {"limit_name": "a", "most_users_gain": 0} | limit)
    assert row["is_exceeded"]
