"""The quick engine remembers queries from one command to the next."""

from __future__ import annotations

import sqlite3
import stat

import pytest

from secure_datasets.engines import duckdb, memory, translation
from secure_datasets.engines.duckdb import DuckDB, NotExact, Rows

QUERY = "select n from lake.things where n = 1 and t = 'x'"
ROWS = Rows({"n": "bigint", "t": "string"}, [(1, "x"), (2, "x")])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "target" / memory.FILE


@pytest.fixture
def made(monkeypatch):
    """Return the queries that were translated."""
    queries: list[str] = []

    def translate(sql):
        queries.append(sql)
        return real(sql)

    real = translation._translate
    monkeypatch.setattr(translation, "_translate", translate)
    return queries


def ask(path, query=QUERY, rows=ROWS):
    """Ask a query as a process of its own does."""
    translation.translated.cache_clear()
    duckdb._checked.clear()
    with memory.kept_in(path):
        return DuckDB({"lake.things": rows}).ask(query)


def known(path):
    with sqlite3.connect(path) as file:
        return file.execute("select count(*) from known").fetchone()[0]


def test_a_query_is_translated_once_for_all_commands(path, made):
    assert ask(path) == ask(path) == [{"n": 1}]
    assert made == [QUERY]
    assert stat.S_IMODE(path.stat().st_mode) == memory.OWNER_ALONE


def test_nothing_is_remembered_without_a_file(path, made):
    translation.translated.cache_clear()
    DuckDB({"lake.things": ROWS}).ask(QUERY)
    assert made == [QUERY]
    assert not path.exists()


def test_other_code_remembers_nothing_of_it(path, made, monkeypatch):
    ask(path)
    monkeypatch.setattr(memory, "python_part", lambda: "another")
    ask(path)
    assert made == [QUERY, QUERY]


def test_other_types_are_checked_anew(path):
    """A number and a text are compared otherwise by Spark."""
    ask(path)
    texts = Rows({"n": "string", "t": "string"}, [("1", "x")])
    for _ in range(2):
        with pytest.raises(NotExact):
            ask(path, rows=texts)


def test_what_is_not_exact_is_refused_each_time(path):
    for _ in range(2):
        with pytest.raises(NotExact, match="is not on the list"):
            ask(path, "select n from lake.things limit 1 offset 1")


@pytest.mark.parametrize("spoil", ["damaged", "a folder", "a link"])
def test_a_file_that_is_none_costs_time_alone(path, made, spoil, tmp_path):
    path.parent.mkdir()
    if spoil == "damaged":
        path.write_text("no database, but a text that is long enough" * 9)
    elif spoil == "a folder":
        path.mkdir()
    else:
        (tmp_path / "elsewhere").write_text("kept")
        path.symlink_to(tmp_path / "elsewhere")
    assert ask(path) == ask(path) == [{"n": 1}]
    if spoil == "damaged":
        assert ask(path) == [{"n": 1}] and len(made) == 2
    if spoil == "a link":
        assert (tmp_path / "elsewhere").read_text() == "kept"


def test_another_command_that_writes_is_not_waited_for_long(path, made, monkeypatch):
    ask(path)
    monkeypatch.setattr(memory, "PATIENCE", 0.01)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("begin exclusive")
        assert ask(path) == [{"n": 1}]
    assert made == [QUERY, QUERY]


def test_what_was_not_asked_for_longest_is_left_out(path, made, monkeypatch):
    monkeypatch.setattr(memory, "MOST", 4)
    queries = [f"{QUERY} and n < {number}" for number in (7, 8, 9)]
    for query in (*queries[:2], queries[0], queries[2], queries[0]):
        ask(path, query)
    assert made == queries
    assert known(path) == 4
    ask(path, queries[1])
    assert made == [*queries, queries[1]]
