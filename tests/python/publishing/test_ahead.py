"""What a run asks once for all its models, and what it notes once at its end."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from dbt import selected_resources
from dbt_common.exceptions import DbtRuntimeError
from metastore_double import Relation, RememberedMetastore

from dbt_secure_spark import beginning, hooks, switching, unchanged
from dbt_secure_spark import run as run_module
from dbt_secure_spark.run import Run
from dbt_secure_spark.versions import (
    LONGEST_COMMENT,
    Published,
    RawRead,
    encoded,
    found_again,
    raw_reads,
    told_again,
)

TABLES = ("jobs", "users", "groups")
STAGED = "stg_users"
RUN = "20260201000000_0123abcd"
BEFORE = "20260101000000_0123abcd"


class World:
    """Staged models over a raw table each, as a run selects and reads them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.metastore = RememberedMetastore("s", "s_versions")
        self.nodes = {f"stg_{table}": self.model(table) for table in TABLES}
        self.graph = {
            "nodes": self.nodes,
            "sources": {table: self.source(table) for table in TABLES},
        }
        self.metastore.raw = {f"raw.{table}": 1 for table in TABLES}
        self.run = self.metastore.dbt_run = Run(self.metastore, RUN, 20, *[["s"]] * 3)
        # As a run lists them when it begins.
        for table in TABLES:
            version = f"s_versions.stg_{table}__v{BEFORE}"
            self.metastore.relations[tuple(version.split("."))] = {}
            told = f"View Text: select * from {version}\nkept_versions=none]"
            self.run.published.definitions[f"s.stg_{table}"] = told
        selected = set(self.nodes)
        monkeypatch.setattr(selected_resources, "SELECTED_RESOURCES", selected)
        flags = SimpleNamespace(WHICH="run", DEFER=False)
        monkeypatch.setattr(run_module, "get_flags", lambda: flags)
        monkeypatch.setattr(unchanged, "option_to_read_some_rows", lambda: None)

    def model(self, table: str) -> dict:
        return {
            **{"name": f"stg_{table}", "unique_id": f"stg_{table}", "schema": "s"},
            **{"alias": f"stg_{table}", "relation_name": f"s.stg_{table}"},
            **{"resource_type": "model", "language": "sql", "columns": {}},
            **{"description": "", "depends_on": {"nodes": [table]}},
            "config": {"materialized": "published_view", "keep_unchanged": True},
        }

    def source(self, table: str) -> dict:
        return {
            **{"resource_type": "source", "unique_id": table, "name": table},
            **{"source_name": "raw", "relation_name": f"raw.{table}"},
            "loaded_at_field": None,
        }

    def begin(self, table: str) -> dict:
        """Begin the model of a raw table."""
        node = self.nodes[f"stg_{table}"]
        relation, code = Relation("s", node["alias"]), f"select id from raw.{table}"
        return beginning.begin_version(
            self.metastore, self.graph, node, relation, code, None, is_anew=False
        )

    def note(self, table: str) -> None:
        """Note what the published version was made of, as an earlier run did."""
        version = f"s_versions.stg_{table}__v{BEFORE}"
        begun, node = self.begin(table), self.nodes[f"stg_{table}"]
        given = (self.metastore, self.graph, node)
        switching.record_version(*given, version, begun["raw"], made=begun["made_of"])
        told = self.metastore.told(*version.split("."))
        self.run.published.versions[version] = told
        self.run.published.reads[version] = raw_reads(told)

    def keep(self, table: str) -> None:
        """Let the published version of a raw table's model stay, as the run notes."""
        begun, node = self.begin(table), self.nodes[f"stg_{table}"]
        given = (self.metastore, self.graph, node, begun["kept"], begun["raw"])
        switching.record_version(*given)

    def later_run(self, name: str) -> Run:
        """End this run's notes, and begin a further run that reads them."""
        self.run.note_found()
        views = self.run.published.definitions
        self.run = self.metastore.dbt_run = Run(self.metastore, name, 20, *[["s"]] * 3)
        found = run_module.found_by(self.metastore, "s_versions")
        self.run.published.definitions |= views
        self.run.published.load_reads(self.metastore, "s_versions", found)
        return self.run

    def asked(self, part: str) -> int:
        """The number of statements that have a text in them."""
        return sum(part in statement for statement in self.metastore.sent)


@pytest.fixture
def world(monkeypatch) -> World:
    return World(monkeypatch)


@pytest.fixture
def noted(world) -> World:
    """A world in which nothing has changed since the last run, before the next one."""
    world.run.name = BEFORE
    for table in TABLES:
        world.note(table)
    world.run.name = RUN
    world.run.files_ahead = world.run.rows_ahead = world.run.noted_readings = None
    world.metastore.sent.clear()
    return world


def test_versions_that_stay_are_asked_for_at_once(noted):
    for table in TABLES:
        assert noted.begin(table)["kept"], table
    assert noted.asked("as files") == 1
    assert noted.asked("as counted") == 1
    assert noted.asked("refresh table") == len(TABLES)


def test_a_table_that_has_changed_is_read_as_it_is_when_its_model_begins(noted):
    noted.metastore.files["raw.users"], noted.metastore.raw["raw.users"] = (1, 0), 2
    assert noted.begin("jobs")["kept"]
    # A further load, between the first model and this one.
    noted.metastore.files["raw.users"], noted.metastore.raw["raw.users"] = (2, 0), 3
    begun = noted.begin("users")
    assert begun["kept"] is None
    assert [read.rows for read in begun["raw"]] == [3]
    files = unchanged.files_of_sources(
        noted.metastore, noted.graph, noted.nodes["stg_users"]
    )
    assert begun["made_of"].files == files


def build_a_table(world: World) -> None:
    """Let the run build the raw table, as it does with the sample's."""
    world.nodes["users"] = world.source("users") | {
        **{"resource_type": "seed", "config": {"materialized": "seed"}},
        **{"schema": "raw", "alias": "users", "depends_on": {"nodes": []}},
    }
    selected_resources.SELECTED_RESOURCES.add("users")


def add_a_hook(world: World) -> None:
    """Let a model of the run have a hook, which may write any table."""
    world.nodes["stg_jobs"]["config"]["post-hook"] = [{"sql": "insert into raw.users"}]


@pytest.mark.parametrize("write", [build_a_table, add_a_hook])
def test_a_table_that_the_run_may_write_is_asked_for_when_its_model_begins(
    noted, write
):
    write(noted)
    noted.begin("jobs")
    noted.metastore.files["raw.users"], noted.metastore.raw["raw.users"] = (1, 0), 2
    begun = noted.begin("users")
    assert begun["kept"] is None
    assert [read.rows for read in begun["raw"]] == [2]


def test_a_failure_of_what_is_asked_at_once_is_that_of_one_model(noted, monkeypatch):
    execute = noted.metastore.execute

    def fail(statement: str, fetch: bool = False):
        if "raw.groups" in statement or "as counted" in statement:
            raise DbtRuntimeError("a file is damaged")
        return execute(statement, fetch)

    monkeypatch.setattr(noted.metastore, "execute", fail)
    assert noted.begin("users")["kept"]
    with pytest.raises(DbtRuntimeError, match="damaged"):
        noted.begin("groups")


def test_a_version_with_other_rows_than_were_noted_is_written_again(noted):
    # As when a file of the version is lost.
    noted.metastore.count_all = lambda parts: [(0, 7), (2, 1)]
    noted.metastore.count = lambda relation: [(7,)]
    assert [bool(noted.begin(table)["kept"]) for table in TABLES].count(True) == 1


def test_a_version_in_a_catalog_of_its_own_is_counted_with_its_snapshot(noted):
    noted.run.catalog = "lake"
    assert noted.begin("users")["kept"]
    assert noted.asked("as counted") == 0
    assert noted.asked("select count(*) from s_versions.stg_users") == 1


def test_the_present_state_of_a_raw_table_is_not_the_one_from_before_the_run(noted):
    noted.begin("jobs")
    noted.metastore.files["raw.users"], noted.metastore.raw["raw.users"] = (1, 0), 2
    now = noted.run.look_up(noted.graph, {"raw.users"})
    assert now["raw.users"].rows == 2


def test_the_present_state_is_asked_for_again_once_a_further_table_is_read(noted):
    noted.run.look_up(noted.graph, {"raw.users"})
    noted.metastore.files["raw.users"], noted.metastore.raw["raw.users"] = (1, 0), 2
    noted.keep("jobs")
    now = noted.run.look_up(noted.graph, {"raw.users"})
    assert now["raw.users"].rows == 2


@pytest.mark.parametrize(
    "told",
    [
        [("Storage Properties", "[header=true]", "")],
        [
            ("# Partition Information", "", ""),
            *[("# col_name", "data_type", "comment"), ("day", "date", None)],
        ],
    ],
)
def test_a_table_that_is_described_otherwise_is_in_another_state(noted, told):
    def files() -> dict:
        node = noted.nodes["stg_users"]
        return unchanged.files_of_sources(noted.metastore, noted.graph, node)

    before, described = files(), noted.metastore.describe_view
    noted.metastore.describe_view = lambda *place: [*described(*place), *told]
    assert files() != before
    # The folder of a file is known by the values of its partition.
    is_partitioned = any(row[0] == "day" for row in told)
    assert noted.asked("cast(`day` as string)") == is_partitioned


def test_a_view_is_asked_for_once_the_run_has_switched_it(noted):
    metastore, run = noted.metastore, noted.run
    run.listed, view = {"s"}, Relation("s", STAGED)
    listed = run.published.definitions[str(view)]
    assert switching.definition_of(metastore, view) == listed
    assert noted.asked("show table extended") == 0
    metastore.relations[tuple(view)] = {"kept_versions": "none", "comment": "new"}
    run.switched[str(view)] = "select 1"
    told = switching.definition_of(metastore, view)
    assert told == metastore.told(*view)


def test_a_view_of_a_schema_that_was_not_there_yet_is_asked_for(noted):
    noted.run.schemas = ["s", "later"]
    noted.run.load_definitions()
    assert noted.run.listed == {"s"}
    noted.metastore.schemas["later"], view = {}, Relation("later", "users")
    noted.metastore.relations[tuple(view)] = {"kept_versions": "none"}
    assert switching.definition_of(noted.metastore, view)


def test_a_run_that_keeps_versions_notes_once_that_it_has_read_them(noted):
    metastore, run = noted.metastore, noted.run
    for table in TABLES:
        begun, node = noted.begin(table), noted.nodes[f"stg_{table}"]
        switching.record_version(
            metastore, noted.graph, node, begun["kept"], begun["raw"]
        )
    assert noted.asked("raw_reads") == 0
    run.note_found()
    run.note_found()
    assert noted.asked("alter schema s_versions") == 1
    # The next run reads them as this one has.
    later = Run(metastore, "20260301000000_0123abcd", 20, *[["s"]] * 3)
    found = run_module.found_by(metastore, "s_versions")
    later.published.load_reads(metastore, "s_versions", found)
    reads = later.published.reads[f"s_versions.stg_users__v{BEFORE}"]
    assert {read.run for read in reads} == {RUN}
    entries = hooks.readings_of(metastore, later.published, later.published.reads)
    assert {entry["read"].run for entry in entries} == {RUN}


def test_a_model_of_the_run_that_keeps_a_version_finds_it_read_by_this_run(noted):
    later = noted.later_run("20260301000000_0123abcd")
    noted.keep("users")
    told = hooks.raw_tables_of(noted.metastore, noted.graph, [Relation("s", STAGED)])
    assert {entry["read"].run for entry in told} == {later.name}


def test_a_run_that_keeps_one_of_two_versions_takes_no_date_from_what_reads_both(
    noted,
):
    both = f"s_versions.both__v{BEFORE}"
    reads = [RawRead(f"raw.{table}", BEFORE, 1, 1) for table in TABLES]
    value = encoded(" ".join(map(str, reads)))
    noted.metastore.relations[tuple(both.split("."))] = {"raw_reads": value}
    later = noted.later_run("20260301000000_0123abcd")
    given = (noted.metastore, noted.graph, noted.nodes["stg_users"])
    found = [replace(read, run=later.name) for read in reads]
    switching.record_version(*given, both, found)
    later = noted.later_run("20260401000000_0123abcd")
    # Of all that the run before has found again, this one finds one table.
    noted.keep("users")
    last = noted.later_run("20260501000000_0123abcd").published.reads
    staged = f"s_versions.{STAGED}__v{BEFORE}"
    assert {read.run for read in last[staged]} == {later.name}
    assert {read.run for read in last[both]} == {found[0].run}


def test_what_no_run_can_find_again_is_not_in_the_note(noted):
    # As of a parent that reads a relation which dbt does not know.
    text = "raw.`o'brien(token)`"
    unknown, read = RawRead(text, text), RawRead("raw.users", RUN, 1, 1)
    kept = f"s_versions.{STAGED}__v{BEFORE}"
    before = frozenset({unknown, replace(read, run=BEFORE)})
    told = f"raw_reads={encoded(' '.join(map(str, before)))}]"
    noted.run.published.versions[kept] = told
    noted.run.published.reads[kept] = before
    given = (noted.metastore, noted.graph, noted.nodes["stg_users"], kept)
    switching.record_version(*given, [unknown, read])
    noted.keep("jobs")
    noted.run.note_found()
    jobs = replace(read, table="raw.jobs")
    told = noted.metastore.schemas["s_versions"]["found_again"]
    assert found_again(told) == {RUN: {jobs.found}}
    # Such a version has a note of its own.
    assert raw_reads(noted.metastore.told(*kept.split("."))) == {unknown, read}


def test_readings_of_several_runs_are_noted_with_their_version(noted):
    kept = f"s_versions.{STAGED}__v{BEFORE}"
    reads = {RawRead("raw.users", BEFORE, 1, 1), RawRead("raw.jobs", BEFORE, 2, 2)}
    noted.run.published.reads[kept] = frozenset(reads)
    # The run has selected one of the models behind them.
    found = [replace(read, run=RUN) if read.rows == 1 else read for read in reads]
    given = (noted.metastore, noted.graph, noted.nodes["stg_users"], kept)
    switching.record_version(*given, found)
    noted.run.note_found()
    assert raw_reads(noted.metastore.told(*kept.split("."))) == {*found}
    assert noted.metastore.schemas["s_versions"].get("found_again") is None


def test_only_a_run_that_found_all_of_a_version_takes_the_place_of_its_own():
    jobs, users = RawRead("raw.jobs", BEFORE, 1, 1), RawRead("raw.users", BEFORE, 2, 2)
    empty = RawRead("raw.none", BEFORE, 0)
    name = f"a__v{BEFORE}"

    def runs(reads: set[RawRead], found: dict[str, set[str]]) -> set[str]:
        published = Published()
        text = f"raw_reads={encoded(' '.join(map(str, reads)))}]"
        published._keep("s_versions", {name: text}, found)
        return {read.run for read in published.reads[f"s_versions.{name}"]}

    between, of_both = "20260115000000_0123abcd", {jobs.found, users.found}
    for found, run in (
        ({RUN: of_both}, RUN),
        ({RUN: of_both, between: of_both}, RUN),
        # The later run has found one of them, the earlier one both.
        ({RUN: {jobs.found}, between: of_both}, between),
        ({}, BEFORE),
        ({RUN: {jobs.found}}, BEFORE),
        ({RUN: {jobs.found}, between: {users.found}}, BEFORE),
        ({RUN: {jobs.found, replace(users, content=3).found}}, BEFORE),
        ({"20251231000000_0123abcd": of_both}, BEFORE),
    ):
        assert runs({jobs, users}, found) == {run}, found
    later = replace(users, run="20260301000000_0123abcd")
    assert runs({jobs, later}, {RUN: of_both}) == {RUN}
    assert runs({jobs, later}, {RUN: {jobs.found}}) == {BEFORE, later.run}
    # Nothing says what such a table held.
    assert runs({jobs, empty}, {RUN: {jobs.found}}) == {BEFORE}


def test_the_note_of_what_was_found_has_the_last_runs_and_no_more_than_fits():
    of_runs = {
        f"{20260101000000 + each}_0123abcd": {f"{each:016x}"} for each in range(200)
    }
    text = told_again(of_runs)
    assert len(text) <= LONGEST_COMMENT
    kept = found_again(text)
    assert kept.items() <= of_runs.items()
    assert min(kept) > max(of_runs.keys() - kept.keys())
    few = {BEFORE: {"a" * 16, "b" * 16}, RUN: {"a" * 16}}
    assert found_again(told_again(few)) == few
    assert found_again(told_again({})) == {}


def test_a_version_in_a_schema_that_is_gone_is_read_from_itself(noted):
    gone = f"gone_versions.a__v{BEFORE}"
    (reading,) = hooks.readings_of(noted.metastore, Published(), [gone])
    assert reading["read"] == RawRead(gone, gone)
