"""Another state, worked out for a question, is what the contract says of its raw rows.

A fiftieth of `WORLDS` in the environment, or of 200, is the number of random worlds.
"""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from collections import Counter
from datetime import datetime, timedelta
from importlib.metadata import version
from pathlib import Path

import pytest
from comparison import comparable, values_of, wanted_rows
from oracle.contract import (
    COLUMNS,
    TABLES,
    World,
    delivered_until,
    evaluate,
    stage,
    timeline,
)
from published_worlds import PublishedWorld
from quick import found_rows
from random_worlds import random_world
from rendering import ROOT
from timelines import as_known, in_nights
from worlds import moments_of

from secure_datasets.engines.duckdb import DuckDB, as_json
from secure_datasets.engines.published import read_state, relations_of
from secure_datasets.questions import differences
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.configs import (
    ADDED,
    edited_config,
    roles_without_a_group,
)
from secure_datasets.questions.edits import Edits
from secure_datasets.questions.kept import Kept
from secure_datasets.questions.lookups import Lookups
from secure_datasets.questions.macros import Package
from secure_datasets.questions.resolution import resolved
from secure_datasets.questions.timeline import quick
from secure_datasets.questions.timeline.quick import QuickTimelines

SEEDS = range(int(os.environ.get("WORLDS", "200")) // 50 or 1)
OTHER, NOW = "another_state", "present_state"
ACCESS = (
    "vw_secure_user_project_access",
    "vw_secure_user_data_source_access",
    "vw_secure_user_results_access",
)
SECURE = "vw_secure_dataset_"
SHOWN = (*ACCESS, "vw_secure_dataset_tests", "vw_secure_dataset_event_history")
# What says that somebody or something has a row of its own, by raw table.
GRANTS = ("project_permissions", "data_source_permissions", "user_group_members")


def folder(package: str):
    """Return the folder of the product."""
    return ROOT


@pytest.fixture
def published(tmp_path):
    """Publish a world: its package, its engine, and the file of its state."""

    def publish(world: World):
        path = PublishedWorld(tmp_path / "published", world).path
        state = read_state(path, version("secure-datasets"))
        engine = DuckDB(relations_of(state), fingerprints=True)
        return Package(state, engine, as_json), engine, path

    return publish


def unlike(engine: DuckDB, expected, schema: str = OTHER) -> dict[str, list]:
    """Return where relations of a state differ from what the oracle expects."""
    wanted = {name: comparable(rows) for name, rows in wanted_rows(expected).items()}
    found = {name: found_rows(engine, name, schema) for name in SHOWN}
    return {
        name: [
            *(("too many", values_of(row)) for row in found[name] - wanted[name]),
            *(("missing", values_of(row)) for row in wanted[name] - found[name]),
        ]
        for name in SHOWN
        if found[name] != wanted[name]
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_T3_a_moment_is_worked_out_from_the_rows_until_then(published, seed):
    world = random_world(seed)
    now, engine, _ = published(world)
    moment = random.Random(seed).choice(moments_of(world))
    resolved(now.state, folder, engine, OTHER, as_of=str(moment))
    assert not unlike(engine, evaluate(delivered_until(world, moment)))


@pytest.mark.parametrize("seed", SEEDS)
def test_Q6_what_if_is_the_difference_after_doing_it(published, seed):
    world = random_world(seed)
    read, engine, _ = published(world)
    now = resolved(read.state, folder, engine, NOW, as_of=str(moments_of(world)[-1]))
    number, chosen = random.Random(seed), {}
    for table in GRANTS:
        key = now.state.document["raw_tables"][table]["key"]
        live = now["rows_of"](
            f"select {key} as id from {NOW}.stg_{table} where is_live order by 1"
        )
        if live:
            chosen[table] = number.choice(live)["id"]
    edits = Edits(Lookups(now))
    for table, row in chosen.items():
        edits.remove_row(f"row {row} of {table}")
    then = resolved(now.state, folder, engine, OTHER, queries=edits.queries())
    after = copy.deepcopy(world)
    for table, row in chosen.items():
        after[table] = [each for each in after[table] if not is_id(each["id"], row)]
    expected = evaluate(after)
    assert not unlike(engine, expected)
    # The changes are those between the two evaluations, each with a row that went.
    found = differences.access_changes(now, then, [NOW, OTHER], is_supposed=True)
    projects = {
        (row["user_id"], row["project_id"]): row["change"]
        for row in found
        if row["tier"] == "project" and row["change"] != "other access_type"
    }
    has = [
        {row[:2] for row in evaluation.relations["vw_secure_user_project_access"]}
        for evaluation in (evaluate(world), expected)
    ]
    lost = {(user, project): "lost" for project, user in has[0] - has[1]}
    assert lost == projects
    went = {f"{table} {row} went" for table, row in chosen.items()}
    assert {cause for row in found for cause in row["causes"]} <= went


def test_Q6_a_row_comes_beside_one_that_has_the_largest_id(published):
    world = random_world(0)
    staging = stage(world)
    user, project = (min(staging.live(table)) for table in ("users", "projects"))
    row = dict.fromkeys(TABLES["project_permissions"]) | {"is_active": "true"}
    row |= {"project_id": str(project), "user_id": str(user)}
    world["project_permissions"] = [row | {"id": str(2**63 - 1), "is_active": "false"}]
    read, engine, _ = published(world)
    now = resolved(read.state, folder, engine, NOW, as_of=str(moments_of(world)[-1]))
    edits = Edits(Lookups(now))
    edits.add(f"project_permissions: project_id={project}, user_id={user}")
    resolved(now.state, folder, engine, OTHER, queries=edits.queries())
    world["project_permissions"].append(row | {"id": "1"})
    assert not unlike(engine, evaluate(world))


def test_Q7_a_day_that_is_asked_for_again_is_kept(published, tmp_path):
    world = random_world(0)
    read, engine, path = published(world)
    days = [datetime(2100, 1, number) for number in (1, 2, 3)]
    view, folder_of_days = ACCESS[0], tmp_path / "kept"

    def ask(day: datetime, most: int = 2) -> tuple[Kept, set[str], list]:
        kept = Kept(folder_of_days, read_state(path, version("secure-datasets")), most)
        files = kept.files(day)
        then = resolved(read.state, folder, engine, OTHER, as_of=str(day), kept=kept)
        rows = then["rows_of"](f"select * from {OTHER}.{view} order by all")
        kept.keep(day, engine, OTHER)
        return kept, set(files), rows

    _, files, first = ask(days[0])
    assert not files and first
    kept, files, again = ask(days[0])
    assert {view, "stg_users"} <= files and again == first
    # Nothing is worked out anew: what stands in the file is what is told.
    file = kept.files(days[0])
    shutil.copy(file["stg_users"], file[view])
    ask(days[0])
    assert "login_name" in engine.columns(f"{OTHER}.{view}")
    # Of other raw files nothing is told by it.
    other = read_state(path, version("secure-datasets"))
    other.seen[tmp_path] = [("users.parquet", 1, 2)]
    assert not Kept(folder_of_days, other, 2).files(days[0])
    # Whoever else may not read it; a moment within a day is not kept.
    assert folder_of_days.stat().st_mode & 0o077 == 0
    ask(days[1] - timedelta(hours=1))
    assert {each.name for each in kept.own.iterdir()} == {f"{days[0]:%Y-%m-%d}"}
    # The day that nobody has asked for longest goes first.
    os.utime(kept.own / f"{days[0]:%Y-%m-%d}", (0, 0))
    for day in days[1:]:
        ask(day)
    assert {each.name for each in kept.own.iterdir()} == {
        f"{day:%Y-%m-%d}" for day in days[1:]
    }
    # Of another published state nothing is read, and none is left.
    path.write_bytes(path.read_bytes() + b" ")
    other, files, _ = ask(days[1])
    assert not files and [*folder_of_days.iterdir()] == [other.own]
    # None are kept where none may be.
    shutil.rmtree(folder_of_days)
    assert not ask(days[1], most=0)[1] and not folder_of_days.exists()


@pytest.mark.parametrize("seed", SEEDS[::2])
def test_T5_since_says_the_difference_of_two_past_states(published, seed):
    world = random_world(seed)
    read, engine, _ = published(world)
    moments = moments_of(world)
    since = random.Random(seed).choice(moments[:-1] or moments)
    schemas = [OTHER, NOW]
    then, now = (
        resolved(read.state, folder, engine, schema, as_of=str(moment))
        for schema, moment in zip(schemas, (since, moments[-1]), strict=True)
    )
    answer = differences.changes(then, now, schemas, None, str(since))
    rows = {
        table.title: [dict(zip(table.columns, row, strict=True)) for row in table.rows]
        for table in answer.tables
    }
    states = [evaluate(delivered_until(world, since)), evaluate(world)]
    # What each user has of each tier, and rows of each dataset: as --as-of tells them.
    for state, schema in zip(states, schemas, strict=True):
        assert not unlike(engine, state, schema)
    access = [access_of(state, read.state.document["config"]) for state in states]
    shown = [rows_of(state) for state in states]
    told = {"gained": access[1] - access[0], "lost": access[0] - access[1]}
    objects = rows.get("objects", [])
    for change, wanted in told.items():
        found = Counter(
            (row["tier"], row["user_id"]) for row in objects if row["change"] == change
        )
        assert found == Counter((tier, user) for tier, user, *_ in wanted)
    counted = rows.get("rows of the secure datasets", [])
    net = {
        (row["user_id"], row["dataset"]): row["gained"] - row["lost"] for row in counted
    }
    keys = {*shown[0], *shown[1], *net}
    assert all(net.get(key, 0) == shown[1][key] - shown[0][key] for key in keys)
    assert answer.is_no == (not objects and not counted)
    # And both answers of who say the same of the objects that a user has.
    for user in sorted({user for of in told.values() for _, user, *_ in of})[:2]:
        held = [{*Lookups(each)._held(user)} for each in (then, now)]
        for change, (has, lacks) in {"gained": held[::-1], "lost": held}.items():
            own = {(tier, *keys) for tier, who, *keys in told[change] if who == user}
            assert {(tier, *keys) for tier, keys in has - lacks} == own


def access_of(expected, config) -> set[tuple]:
    """Return the tier, the user and the keys of all access."""
    found = set()
    for name, tier in config["tiers"].items():
        if tier.get("right"):
            view = tier["access_view"]
            columns = [
                COLUMNS[view].index(each) for each in ("user_id", *tier["object_keys"])
            ]
            rows = expected.relations[view]
            found |= {(name, *(row[at] for at in columns)) for row in rows}
    return found


def rows_of(expected) -> Counter:
    """Return how many rows of each secure dataset each user sees."""
    return Counter(
        (row[COLUMNS[name].index("user_id")], name.removeprefix(SECURE))
        for name, rows in expected.relations.items()
        if name.startswith(SECURE)
        for row in rows
    )


def is_id(text: str | None, number: int) -> bool:
    """Whether a raw id is a number, as staging reads it."""
    try:
        return int(str(text).strip()) == number
    except ValueError:
        return False


CONFIG = """{{% macro default__secure_datasets_config() %}}
policies:
    - {{role: "*", resource: tests, condition: {condition}}}
    - {{role: "*", resource: tests.test_name, mask: "'hidden'"}}
{{% endmacro %}}
"""


def config_in(folder: Path, text: str) -> Path:
    """Put a config into a project."""
    (folder / "macros").mkdir(exist_ok=True)
    (folder / "macros/secure_datasets_config.sql").write_text(text)
    return folder


@pytest.mark.parametrize("seed", SEEDS)
def test_an_edited_policy_is_the_difference_after_building_it(
    published, tmp_path, seed
):
    now, engine, _ = published(random_world(seed))
    text = CONFIG.format(condition="project_id = 1")
    edited = edited_config(now, config_in(tmp_path, text))
    assert edited.touched == ["tests"]
    resolved(now.state, folder, engine, OTHER, config=edited)
    before, after = (
        {
            (row["user_id"], row["test_id"]): row
            for row in engine.ask(f"select * from {schema}.vw_secure_dataset_tests")
        }
        for schema in ("secure_datasets", OTHER)
    )
    assert after.keys() == {k for k, row in before.items() if row["project_id"] == 1}
    assert {row["test_name"] for row in after.values()} <= {"hidden"}
    schemas = ["secure_datasets", OTHER]
    users = dict.fromkeys(edited.touched)
    rows = differences.row_changes(now, schemas, users, edited.config)
    lost = Counter(user for user, _ in before.keys() - after.keys())
    assert {row["user_id"]: row["number"] for row in rows} == lost
    assert {row["side"] for row in rows} <= {"lost"}
    values = differences.value_changes(now, schemas, edited)
    changed = Counter(
        user for user, key in after if before[user, key]["test_name"] != "hidden"
    )
    assert {row["user_id"]: row["changed"] for row in values} == changed
    assert not any(row["shown"] for row in values)


MASKED_IN_TIME = """{% macro default__secure_datasets_config() %}
policies:
    - {role: "*", resource: tests.test_name, mask: "'hidden'", valid_from: 2100-01-03}
{% endmacro %}
"""
IN_TIME = """{% macro default__secure_datasets_config() %}
policies:
    - {role: "*", resource: tests, valid_until: 2100-01-02}
    - {role: "*", resource: tests, condition: project_id = 1, valid_from: 2100-01-03}
{% endmacro %}
"""


@pytest.fixture
def with_config(published, tmp_path):
    """Publish a world with policies on tests: its state, engine and config."""

    def publish(world: World, text: str):
        now, engine, path = published(world)
        edited = edited_config(now, config_in(tmp_path, text))
        values = json.loads(path.read_text())
        values["documents"]["secure_datasets"]["config"] = edited.config
        for node in values["graph"]["nodes"].values():
            if node["name"] == "vw_secure_dataset_tests":
                read = "model.secure_datasets.user_role_names"
                node["depends_on"]["nodes"].append(read)
        path.write_text(json.dumps(values))
        state = read_state(path, version("secure-datasets"))
        return state, engine, edited.config

    return publish


DAYS = ("2100-01-02 12:00:00", "2100-01-04")


def test_T5_since_says_which_rows_go_as_a_rule_begins(with_config):
    state, engine, config = with_config(random_world(4), IN_TIME)
    schemas = [OTHER, NOW]
    then, after = (
        resolved(state, folder, engine, schema, as_of=day)
        for schema, day in zip(schemas, DAYS, strict=True)
    )
    shown = [
        {
            (row["user_id"], row["test_id"])
            for row in engine.ask(f"select * from {schema}.vw_secure_dataset_tests")
        }
        for schema in schemas
    ]
    assert shown[0] > shown[1]
    lost = Counter(user for user, _ in shown[0] - shown[1])
    users = {"tests": differences.touched_users(then, after, "tests")}
    assert users == {"tests": None}
    found = differences.row_changes(after, schemas, users, config)
    assert {r["user_id"]: r["number"] for r in found if r["side"] == "lost"} == lost
    assert not [row for row in found if row["side"] == "gained"]


@pytest.mark.parametrize("days", [DAYS, DAYS[::-1], DAYS[:1] * 2])
def test_T5_since_says_which_values_a_mask_hides_as_a_rule_begins(with_config, days):
    state, engine, _ = with_config(random_world(4), MASKED_IN_TIME)
    schemas = [OTHER, NOW]
    then, after = (
        resolved(state, folder, engine, schema, as_of=day)
        for schema, day in zip(schemas, days, strict=True)
    )
    answer = differences.changes(then, after, schemas, None, days[0])
    query = (
        f"select user_id, count(*) as number from {OTHER}.vw_secure_dataset_tests"
        " where test_name is not null group by user_id"
    )
    seen = {row["user_id"]: row["number"] for row in engine.ask(query)}
    assert seen
    if days[0] == days[1]:
        assert answer.is_no
        return
    (values,) = answer.tables
    shown, hidden = (0, 1) if days == DAYS else (1, 0)
    assert {row[0]: row[2:] for row in values.rows} == {
        user: ["tests", "test_name", shown * number, hidden * number, None]
        for user, number in seen.items()
    }
    assert answer.sentence.startswith(f"Since {days[0]} the access of {len(seen)} user")


def test_a_config_as_it_was_changes_nothing_and_a_mistake_is_told(published, tmp_path):
    now, *_ = published(random_world(0))
    assert edited_config(now, config_in(tmp_path, "")).touched == []
    with pytest.raises(QuestionError, match=r"'condition' names 'nothing'.*line 3 of"):
        text = CONFIG.format(condition="nothing = 1")
        edited_config(now, config_in(tmp_path, text))


def test_a_role_that_nobody_could_hold_is_told_before_it_is_built(published, tmp_path):
    world = random_world(0)
    row = {**world["user_groups"][0], "user_group_id": "77", "name": "Data Office"}
    world["user_groups"] = [{**row, "is_active": "true"}]
    now, *_ = published(world)
    policies = "".join(
        f"    - {{role: {role}, resource: jobs}}\n"
        for role in ("Data Office", "Dta Office", "Global Admin", "{group: 9}", '"*"')
    )
    text = f"{{% macro {ADDED}() %}}\npolicies:\n{policies}{{% endmacro %}}\n"
    edited = edited_config(now, config_in(tmp_path, text))
    assert roles_without_a_group(now, edited) == [
        "a policy on jobs names the role Dta Office, and no live group bears it; near"
        " it is 'Data Office'",
        "a policy on jobs names the role group 9, and no live group has this id",
    ]


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_T4_a_timeline_is_what_each_load_changes_and_by_which_rows(
    published, seed, monkeypatch
):
    # So that rows between those that are needed are read too.
    monkeypatch.setattr(quick, "MOST_RANGES", 1 + seed % 3)
    world = in_nights(random_world(seed))
    now, *_ = published(world)
    wanted: dict[tuple, set] = {}
    for change in timeline(world):
        _, user, source, project = change.key
        wanted.setdefault(("user", str(user)), set()).add(change)
        if project:
            wanted.setdefault(("object", f"Project {project}"), set()).add(change)
        if source:
            wanted.setdefault(("object", f"Data Source {source}"), set()).add(change)
    chosen = sorted(wanted, key=lambda asked: (-len(wanted[asked]), asked))
    for kind in ("user", "object"):
        for asked in [each for each in chosen if each[0] == kind][:1]:
            now.timelines = QuickTimelines(now, folder)
            question = {"kind": kind, "asked": asked[1], "limit": 10**6}
            tables = now.state.document["raw_tables"]
            told = now.timelines.answer(question, {}, tables)
            found = as_known(told["changes"])
            assert {*found} == wanted[asked], asked
            # The rows that are named are there, and moved.
            assert all(found.values()), asked
