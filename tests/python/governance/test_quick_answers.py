"""The quick engine answers from the published state, byte for byte as the macros do."""

from __future__ import annotations

import json
import os
import random

import duckdb
import pytest
from published_worlds import RAW, SCHEMA, SINCE, PublishedWorld
from random_worlds import random_world
from tier_questions import nobody_sees, to_user

from secure_datasets.engines.duckdb import DuckDB, NotExact, NotThere, as_json
from secure_datasets.engines.published import Moved, read_state, relations_of
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.macros import UNCOUNTED, Package

WORLDS = int(os.environ.get("QUICK_WORLDS", 1))
ROWS = ("tests", "test_executions", "event_history", "tables")
TIERS = ("data_source", "project", "results")


@pytest.fixture(scope="module", params=range(WORLDS), ids=lambda seed: f"world {seed}")
def published(request, tmp_path_factory) -> PublishedWorld:
    folder = tmp_path_factory.mktemp("published")
    return PublishedWorld(folder, random_world(request.param))


def quick(published: PublishedWorld, **given) -> tuple[list[str], str]:
    """Return what the macros print by the quick engine: text, and the document."""
    version = published.values["documents"]["secure_datasets"]["version"]
    state = read_state(published.path, version)
    package = Package(state, DuckDB(relations_of(state)), as_json)
    package.why(**given)
    lines, package.printed[:] = list(package.printed), []
    package.why(**given, format="json")
    return lines, package.printed[0]


def slow(published: PublishedWorld, **given) -> tuple[list[str], str]:
    """Return the same from the macros of the test's own sandbox."""
    asked = published.asked
    lines = asked.lines(**given)
    asked.printed.clear()
    asked.why(**given, format="json")
    return lines, asked.printed[0]


def compare(published: PublishedWorld, **given) -> None:
    """Hold one answer against the other: text, document, or the sentence that stops."""
    found = []
    for asking in (slow, quick):
        try:
            found.append(asking(published, **given))
        except QuestionError as why:
            found.append(str(why))
    assert found[1] == found[0], given


def some(rows: list, count: int, seed: str) -> list:
    return random.Random(seed).sample(rows, min(count, len(rows)))


@pytest.mark.parametrize("dataset", ROWS)
def test_Q3_a_row_of_a_random_world_has_the_same_answer_from_both(published, dataset):
    keys = published.asked.secure_datasets_config()["datasets"][dataset]["unique_key"]
    rows = published.database.rows(
        f"select {', '.join(keys)} from vw_dataset_{dataset} order by {', '.join(keys)}"
    )
    users = published.database.rows(
        "select user_id from stg_users where user_id is not null order by user_id"
    )
    for row in some(rows, 2, dataset):
        for user in some(users, 2, f"{dataset} {row}"):
            compare(published, user=user["user_id"], dataset=dataset, row=row)


@pytest.mark.parametrize("tier", TIERS)
def test_Q3_an_object_has_the_same_answer_from_both(published, tier):
    keys = published.asked.secure_datasets_config()["tiers"][tier]["object_keys"]
    ids = {"project_id": "stg_projects", "meta_data_source_id": "stg_meta_data_sources"}
    users = published.database.rows("select distinct user_id from stg_users")
    objects = [{}]
    for key in keys:
        found = published.database.rows(f"select {key} from {ids[key]} order by 1")
        values = [row[key] for row in found if row[key] is not None]
        objects = [known | {key: value} for known in objects for value in values]
    for named in some(objects, 2, tier):
        for user in some([u for u in users if u["user_id"]], 2, f"{tier} {named}"):
            compare(published, user=user["user_id"], tier=tier, object=named)


def test_Q3_what_a_run_has_stored_is_told_unless_staging_ran_since(tmp_path):
    world = nobody_sees() | {"project_permissions": [to_user(is_active="0")]}
    published = PublishedWorld(tmp_path, world)
    given = {"user": "ann", "tier": "project", "object": {"project_id": 1}}
    told = quick(published, **given)
    assert "row 5 of project_permissions" in told[1]
    relation = f"{SCHEMA}.{UNCOUNTED}"
    versions, relations = published.values["versions"], published.values["relations"]
    name = relations[relation]["version"]
    (file,) = tmp_path.glob(f"{UNCOUNTED}__v*/*")
    # Nothing else is read where all is of one run.
    rows = file.read_bytes()
    DuckDB().connection.execute(
        f"copy (select * from '{file}' where false) to '{file}' (format parquet)"
    )
    assert "row 5 of project_permissions" not in quick(published, **given)[1]
    read = ["repository.project_permissions:20260629000000_00000000:2:2:2"]
    of_before = versions | {name: versions[name] | {"read": read}}
    unbuilt = {key: value for key, value in relations.items() if key != relation}
    for changes in ({"versions": of_before}, {"relations": unbuilt}):
        published.write(**changes)
        assert quick(published, **given) == told
    file.write_bytes(rows)
    published.write()
    assert quick(published, **given) == told


def test_Q3_raw_tables_that_the_project_has_not_made_are_described_by_the_engine(
    tmp_path,
):
    world = nobody_sees() | {"project_permissions": [to_user(is_active="0")]}
    published = PublishedWorld(tmp_path, world)
    given = {"user": "ann", "tier": "project", "object": {"project_id": 1}}
    told = quick(published, **given)
    version = published.values["documents"]["secure_datasets"]["version"]
    engine = DuckDB(relations_of(read_state(published.path, version)))
    known = {
        name: value
        for name, value in published.values["relations"].items()
        if not name.startswith(f"{RAW}.") and name != f"{SCHEMA}.{UNCOUNTED}"
    }
    published.write(relations=known)
    state = read_state(published.path, version)
    package = Package(state, engine, as_json)
    package.why(**given)
    assert package.printed == told[0]
    with pytest.raises(NotThere, match=rf"{RAW}\."):
        Package(state, DuckDB(relations_of(state)), as_json).why(**given)


def test_Q3_raw_tables_that_the_project_has_not_made_are_read_where_they_lie(tmp_path):
    published = PublishedWorld(tmp_path / "world", nobody_sees())
    version = published.values["documents"]["secure_datasets"]["version"]
    folder = tmp_path / "raw"
    folder.mkdir()
    table = {
        "format": "parquet",
        "partitioned_by": None,
        "columns": [["id", "string"]],
        "location": folder.as_uri(),
    }

    def load(name: str, number: int) -> None:
        rows = f"select '{number}' as id"
        duckdb.sql(f"copy ({rows}) to '{folder / name}' (format parquet)")

    def ask(**changes: object) -> list[dict]:
        published.write(raw={"replica.users": table | changes})
        state = read_state(published.path, version)
        found = DuckDB(relations_of(state)).ask("select id from replica.users")
        state.check_unmoved()
        return found

    assert ask() == []
    load("a.parquet", 1)
    load("_b.parquet", 2)
    assert ask() == [{"id": "1"}]
    state = read_state(published.path, version)
    relations_of(state)
    load("c.parquet", 3)
    with pytest.raises(Moved):
        state.check_unmoved()
    assert ask() == [{"id": "1"}, {"id": "3"}]
    for other in ({"format": "orc"}, {"partitioned_by": "[`id`]"}, {"location": "s3:"}):
        with pytest.raises(NotThere):
            ask(**other)
    (folder / "id=4").mkdir()
    with pytest.raises(NotThere):
        ask()


def test_Q3_a_question_that_can_t_be_asked_says_the_same_from_both(published):
    compare(published, user="nobody", dataset="tests", row={"test_id": 1})
    compare(published, user=1, dataset="testz", row={"test_id": 1})
    compare(published, user=1, dataset="tests", row={"test_id": 10**12})


BY_GROUP = nobody_sees() | {
    "project_permissions": [to_user(user_id=None, user_group_id=2)]
}


@pytest.fixture(scope="module")
def by_group(tmp_path_factory) -> PublishedWorld:
    return PublishedWorld(tmp_path_factory.mktemp("before"), BY_GROUP)


@pytest.mark.parametrize(
    ("table", "gone", "told"),
    [
        ("user_group_members", 1, "row 1 of user_group_members, created"),
        ("project_permissions", 5, "row 5 of project_permissions, no role, for group"),
        ("user_groups", 2, "group Risk (2) is no longer delivered"),
        ("users", 1, "the user's row is no longer delivered"),
        ("projects", 1, "its project_id is row 1 of projects, which is no longer"),
        ("tests", 1, "it is row 1 of tests, which is no longer delivered"),
        ("project_data_sources", 1, "row 1 of project_data_sources, created"),
    ],
)
def test_F7_why_names_what_the_version_before_still_had(
    by_group, tmp_path, table, gone, told
):
    kept = [row for row in BY_GROUP[table] if int(row["id"]) != gone]
    now = PublishedWorld(tmp_path, BY_GROUP | {table: kept})
    asked = {"user": "ann", "dataset": "tests", "row": {"test_id": 1}}
    if table == "project_data_sources":
        keys = {"project_id": 1, "meta_data_source_id": 1}
        asked = {"user": 1, "tier": "results", "object": keys}
    now.replaces(table, by_group)
    lines, answer = quick(now, **asked)
    since = f"no longer delivered since {SINCE}"
    assert any(told in line and since in line for line in lines), lines
    assert since in answer
    assert "switched o" not in answer, "nothing that is gone can be switched on"


def test_Q3_what_duckdb_can_t_say_exactly_is_not_answered(published):
    version = published.values["documents"]["secure_datasets"]["version"]
    name = "secure_datasets.vw_dataset_tests"
    relation = published.values["relations"][name]
    before = relation["query"]
    relation["query"] = f"{before} where soundex('a') = 'A000'"
    published.write()
    try:
        state = read_state(published.path, version)
        with pytest.raises(NotExact, match="SOUNDEX"):
            DuckDB(relations_of(state)).ask(f"select * from {name}")
    finally:
        relation["query"] = before
        published.write()


def test_a_version_in_folders_has_the_column_of_its_folders(published):
    version = published.values["documents"]["secure_datasets"]["version"]
    name = "secure_datasets.vw_dataset_tests"
    of_version = published.values["relations"][name]["version"]
    stored = published.values["versions"][of_version]
    stored_rows = len(published.database.rows("select * from vw_dataset_tests"))
    values = json.loads(json.dumps(published.values))
    values["versions"][of_version] |= {
        "partitioned_by": ["project_id__mod_4"],
        "columns": [*stored["columns"], ["project_id__mod_4", "int"]],
    }
    query = f"select * except (`project_id__mod_4`) from {of_version}"
    values["relations"][name]["query"] = query
    published.path.write_text(json.dumps(values))
    try:
        engine = DuckDB(relations_of(read_state(published.path, version)))
        assert len(engine.ask(f"select * from {name}")) == stored_rows
        assert "project_id__mod_4" not in engine.columns(name)
        found = engine.ask(
            f"select count(*) as n from {of_version}"
            " where project_id__mod_4 = pmod(project_id, 4) or project_id is null"
        )
        assert found == engine.ask(f"select count(*) as n from {name}")
    finally:
        published.write()
