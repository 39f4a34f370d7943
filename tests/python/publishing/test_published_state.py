"""The published state as a file: what it says, and when it is written."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from jinja2 import Undefined

from dbt_secure_spark import published_state
from dbt_secure_spark.lock import RunLost
from dbt_secure_spark.published_state import (
    BUILDING,
    STATE,
    Disk,
    Hadoop,
    NotWritten,
    StateFile,
    columns_of,
    fields_of,
    plain,
    version_of,
)
from dbt_secure_spark.versions import Published, RawRead, encoded

TOLD = """Catalog: spark_catalog
Database: s
Table: t
Comment: a table
Type: VIEW
View Text: {text}
View Original Text: {text}
View Schema Mode: COMPENSATION
Table Properties: [kept_versions=none]
Schema: root
 |-- user_id: long (nullable = true)
 |-- a: b: string (nullable = true)
"""
KILLS = 50
ROWS = 20_000


@pytest.mark.parametrize(
    "text",
    [
        "select 1",
        "select\n    'Location: file:/x'\nfrom s.t",
        "select '\nView Original Text: x\nSchema: root\n' as a",
        "select 'x\nView Original Text: select ''x' as a",
        "select '\nView Text: y' as b",
    ],
)
def test_a_view_s_text_is_read_whole_whatever_stands_in_it(text):
    """A text may look like the fields around it."""
    fields = fields_of(TOLD.format(text=text))
    assert fields["View Text"] == text
    assert fields["Table"] == "t"
    assert "Location" not in fields
    assert columns_of(fields["Schema"]) == [["user_id", "bigint"], ["a: b", "string"]]


def test_the_types_of_columns_are_spark_s():
    """Nested types too, as SQL writes them."""
    tree = """ |-- id: integer (nullable = true)
 |-- chain: array (nullable = true)
 |    |-- element: long (containsNull = true)
 |-- by_name: map (nullable = true)
 |    |-- key: string
 |    |-- value: decimal(9,4) (valueContainsNull = true)
 |-- delivery: struct (nullable = false)
 |    |-- id: string (nullable = true)
 |    |-- parts: array (nullable = true)
 |    |    |-- element: short (containsNull = true)
"""
    assert columns_of(tree) == [
        ["id", "int"],
        ["chain", "array<bigint>"],
        ["by_name", "map<string, decimal(9,4)>"],
        ["delivery", "struct<id: string, parts: array<smallint>>"],
    ]


def test_what_a_macro_leaves_undefined_is_left_out():
    """JSON has no such value."""
    given = {"holder": Undefined(), "keys": ("a", None), 1: True}
    assert plain(given) == {"keys": ["a", None], "1": True}


def write_for_ever(folder: Path, first: int) -> None:
    """Write one whole document after another, until the process is killed."""
    for number in itertools.count(first):
        text = json.dumps({"number": number, "rows": [number] * ROWS})
        Disk(folder).write(STATE, text, "_published.json.a_run")


@pytest.mark.nightly
def test_a_kill_leaves_the_file_of_before_or_a_whole_one(tmp_path):
    """Whenever the process that writes it is killed: tried fifty times."""
    processes, last = multiprocessing.get_context("fork"), -1
    for attempt in range(KILLS):
        writer = processes.Process(target=write_for_ever, args=(tmp_path, last + 1))
        writer.start()
        before = number_in(tmp_path)
        while number_in(tmp_path) == before:
            time.sleep(0.001)
        # Somewhere within a further write.
        time.sleep(0.0007 * attempt)
        writer.kill()
        writer.join()
        written = json.loads((tmp_path / STATE).read_text())
        assert written["rows"] == [written["number"]] * ROWS
        assert written["number"] > last
        last = written["number"]


def number_in(folder: Path) -> int | None:
    """Return which document is there; reading it fails if it is not whole."""
    if not (folder / STATE).exists():
        return None
    return json.loads((folder / STATE).read_text())["number"]


class Lock:
    """A run's lock, which is lost after so many questions."""

    def __init__(self, lost_after: int | None = None) -> None:
        self.left = lost_after

    def check(self) -> None:
        if self.left == 0:
            raise RunLost("lost")
        self.left = self.left and self.left - 1


@pytest.fixture
def state_file(tmp_path, monkeypatch):
    """Make what writes the state of a run: `state_file(lock)`."""

    def make(lock: Lock | None = None, name: str = "20260101000000_00000000"):
        told = TOLD.format(text="select 1")
        published = SimpleNamespace(
            definitions={"s.t": told}, version_of=lambda relation: None
        )
        run = SimpleNamespace(
            adapter=None, name=name, project="p", target="S", schemas=["s"],
            own_schemas=["a_versions", "s_versions"], lock=lock or Lock(),
            published=published,
        )  # fmt: skip
        return StateFile(run)

    monkeypatch.setattr(StateFile, "_folder", lambda self: Disk(tmp_path))
    return make


GRAPH = {"nodes": {}, "sources": {}}


def test_a_run_says_that_it_builds_until_its_state_is_written(state_file, tmp_path):
    """What is there in between is that of the run before, and says so."""
    state = state_file()
    assert state.store == "s_versions"
    state.begin()
    state.begin()
    assert json.loads((tmp_path / BUILDING).read_text())["run"] == state.run.name
    assert not (tmp_path / STATE).exists()
    state.end(GRAPH, {"a": 1}, str)
    written = json.loads((tmp_path / STATE).read_text())
    assert os.listdir(tmp_path) == [STATE]
    assert (written["schema"], written["documents"]) == ("s", {"a": 1})
    assert written["relations"]["s.t"]["query"] == "select 1"


def test_a_run_that_lost_its_lock_writes_nothing(state_file, tmp_path):
    """Another one publishes by now."""
    (tmp_path / STATE).write_text("of before")
    with pytest.raises(RunLost):
        state_file(Lock(lost_after=0)).end(GRAPH, {}, str)
    assert (tmp_path / STATE).read_text() == "of before"


def test_a_run_that_loses_its_lock_while_it_writes_takes_it_back(state_file, tmp_path):
    """It may have written over what the other run has written: then there is none."""
    with pytest.raises(RunLost):
        state_file(Lock(lost_after=1)).end(GRAPH, {}, str)
    assert not (tmp_path / STATE).exists()


def test_what_another_run_has_written_since_is_not_taken_back(state_file, tmp_path):
    """A run removes its own state alone."""
    state = state_file(Lock(lost_after=1))
    write = Disk.write

    def written_over(self, *given):
        write(self, *given)
        write(self, STATE, '{"run": "another"}', "_another")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(RunLost):
        patch.setattr(Disk, "write", written_over)
        state.end(GRAPH, {}, str)
    assert json.loads((tmp_path / STATE).read_text()) == {"run": "another"}


def test_a_state_that_can_t_be_written_is_warned_of(state_file, tmp_path, monkeypatch):
    """The run ends all the same; what stays says that a run has begun."""
    warnings = []
    monkeypatch.setattr(published_state.logger, "warning", warnings.append)
    state = state_file()
    state.begin()

    def full(self, *given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Disk, "write", full)
    state.end(GRAPH, {}, str)
    assert os.listdir(tmp_path) == [BUILDING]
    (warning,) = warnings
    assert "published state of s is not written" in warning
    assert "No space left on device" in warning


def test_a_version_whose_files_are_not_there_is_no_state(tmp_path):
    """An empty relation would answer in its place."""
    with pytest.raises(NotWritten, match="is no folder"):
        Disk(tmp_path).files(f"file:{tmp_path}/gone")
    with pytest.raises(NotWritten, match="does not say where"):
        version_of(Disk(tmp_path), "s.t", TOLD.format(text="select 1"), None)


def credentials(method: str, **parameters: str) -> SimpleNamespace:
    """Return an adapter whose profile has this method."""
    held = SimpleNamespace(method=method, server_side_parameters=parameters)
    return SimpleNamespace(config=SimpleNamespace(credentials=held))


def test_a_server_s_folder_is_written_only_where_it_is_this_machine_s(tmp_path):
    """A claim of the same name says that the disk is the same."""
    there = f"file:{tmp_path}"
    for adapter in (
        credentials("thrift"),
        credentials("session", **{"spark.remote": "x"}),
    ):
        with pytest.raises(NotWritten, match="out of dbt's reach"):
            published_state.folder_at(adapter, there, "claim")
    claimed = tmp_path / "_claimed_by"
    claimed.mkdir()
    (claimed / "part-0").write_text("claim place\n")
    assert published_state.folder_at(adapter, there, "claim").folder == tmp_path
    with pytest.raises(NotWritten):
        published_state.folder_at(adapter, there, "another")
    with pytest.raises(NotWritten):
        published_state.folder_at(adapter, "hdfs://a/b", "claim")
    of_session = published_state.folder_at(credentials("session"), there, None)
    assert of_session.folder == tmp_path


@pytest.mark.spark
def test_a_file_system_of_hadoop_is_written_by_the_session(spark, tmp_path):
    """As where versions lie on HDFS: beside, then renamed over the one of before."""
    folder = Hadoop(spark, tmp_path.as_uri())
    assert folder.read(STATE) is None
    for text in ("one", "two ü"):
        folder.write(STATE, text, "_beside")
        assert folder.read(STATE) == text
    assert not (tmp_path / "_beside").exists()
    (tmp_path / "v" / "a=1").mkdir(parents=True)
    (tmp_path / "v" / "_SUCCESS").write_text("")
    (tmp_path / "v" / "a=1" / "part.parquet").write_text("rows")
    listed = [["a=1/part.parquet", 4]]
    assert folder.files((tmp_path / "v").as_uri()) == listed
    assert Disk(tmp_path).files((tmp_path / "v").as_uri()) == listed
    folder.remove(STATE)
    assert folder.read(STATE) is None


def test_a_table_that_somebody_else_made_is_found_in_any_schema(monkeypatch):
    """In the project's own schema too, beside views of the same schema."""
    tree = " |-- user_id: long (nullable = true)"
    table = (
        f"Type: MANAGED\nProvider: parquet\nLocation: file:/w/t\nSchema: root\n{tree}"
    )
    found = {"s.t": table, "s.v": TOLD.format(text="select 1"), "r.t": table}
    monkeypatch.setattr(
        published_state,
        "tables_of",
        lambda adapter, names: {n: found[n] for n in names if n in found},
    )
    graph = {
        "nodes": {
            name: {"resource_type": "seed", "schema": "s", "alias": name}
            for name in ("t", "v", "gone")
        },
        "sources": {"t": {"schema": "r", "identifier": "t"}},
    }
    for node in [*graph["nodes"].values(), graph["sources"]["t"]]:
        name = node.get("alias") or node["identifier"]
        node["relation_name"] = f"`{node['schema']}`.`{name}`"
    raw = published_state.raw_tables(None, graph, {"s.v"})
    place = {"format": "parquet", "partitioned_by": None, "location": "file:/w/t"}
    place |= {"columns": [["user_id", "bigint"]]}
    assert raw == {"s.t": place, "r.t": place}


def test_a_state_looks_for_the_files_of_what_it_has_no_query_of(
    state_file, monkeypatch
):
    """A table of somebody else's in the schema is described there, without a query."""
    asked = []
    monkeypatch.setattr(
        published_state, "raw_tables", lambda _, __, known: asked.append(known) or {}
    )
    told = {"s.t": "Type: MANAGED\nSchema: root\n", "s.v": TOLD.format(text="select 1")}
    monkeypatch.setattr(published_state, "tables_of", lambda *_: {})
    writer = state_file()
    writer.run.published.definitions = told
    writer.state(None, GRAPH, {}, str)
    assert asked == [{"s.v"}]


def test_a_version_that_stays_is_read_by_the_run_that_found_it_again(
    state_file, tmp_path, monkeypatch
):
    (tmp_path / "part-0.parquet").touch()
    before, now = "20260101000000_0123abcd", "20260201000000_0123abcd"
    name, reads = f"s_versions.a__v{before}", {RawRead("raw.a", now, 1, 1)}
    noted = encoded(str(RawRead("raw.a", before, 1, 1)))
    told = f"Location: {tmp_path}\nTable Properties: [raw_reads={noted}]\n"
    monkeypatch.setattr(published_state, "raw_tables", lambda *_: {})
    tables = {name: f"{told}Schema: root\n"}
    monkeypatch.setattr(published_state, "tables_of", lambda *_: tables)
    writer = state_file()
    writer.run.published = Published(reads={name: frozenset(reads)})
    written = writer.state(Disk(tmp_path), GRAPH, {}, str)["versions"][name]
    assert written["read"] == [*map(str, reads)]
