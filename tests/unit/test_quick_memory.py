"""The quick engine remembers queries from one command to the next."""

from __future__ import annotations

import json
import os
import stat

import pytest

from secure_datasets.engines import duckdb, memory, translation
from secure_datasets.engines.duckdb import DuckDB, NotExact, Rows

QUERY = "select n from lake.things where n = 1 and t = 'x'"
OTHER = "select n from lake.things where n > 0 and t = 'x'"
ROWS = Rows({"n": "bigint", "t": "string"}, [(1, "x"), (2, "x")])


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "target" / memory.FOLDER


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


def ask(folder, query=QUERY, rows=ROWS):
    """Ask a query as a process of its own does."""
    translation.translated.cache_clear()
    duckdb._checked.clear()
    with memory.kept_in(folder):
        return DuckDB({"lake.things": rows}).ask(query)


def test_a_query_is_translated_once_for_all_commands(folder, made):
    assert ask(folder) == ask(folder) == [{"n": 1}]
    assert made == [QUERY]
    assert stat.S_IMODE(folder.stat().st_mode) == memory.OWNER_ALONE


def test_nothing_is_remembered_without_a_folder(folder, made):
    translation.translated.cache_clear()
    DuckDB({"lake.things": ROWS}).ask(QUERY)
    assert made == [QUERY]
    assert not folder.exists()


def test_other_code_remembers_nothing_of_it(folder, made, monkeypatch):
    ask(folder)
    monkeypatch.setattr(memory, "python_part", lambda: "another")
    ask(folder)
    assert made == [QUERY, QUERY]


def test_other_types_are_checked_anew(folder):
    """A number and a text are compared otherwise by Spark."""
    ask(folder)
    texts = Rows({"n": "string", "t": "string"}, [("1", "x")])
    for _ in range(2):
        with pytest.raises(NotExact):
            ask(folder, rows=texts)


def test_what_is_not_exact_is_refused_each_time(folder):
    for _ in range(2):
        with pytest.raises(NotExact, match="is not on the list"):
            ask(folder, "select n from lake.things limit 1 offset 1")


@pytest.mark.parametrize("spoil", ["", "[", "[]", "{}", "null", '{"digest": 1}', "é"])
def test_a_damaged_file_is_made_anew(folder, made, spoil):
    ask(folder)
    for path in folder.iterdir():
        path.write_text(spoil, encoding="latin-1")
    assert ask(folder) == ask(folder) == [{"n": 1}]
    assert made == [QUERY, QUERY]


def test_the_file_of_another_query_is_not_taken(folder, made):
    ask(folder)
    first = {path: path.read_text() for path in folder.iterdir()}
    ask(folder, OTHER)
    others = [path for path in folder.iterdir() if path not in first]
    for path, other in zip(first, others, strict=True):
        path.write_text(other.read_text())
    assert ask(folder) == [{"n": 1}]
    assert made == [QUERY, OTHER, QUERY]


@pytest.mark.parametrize("spoil", ["a file", "a link", "shared", "another's"])
def test_a_folder_that_is_not_of_this_user_alone_is_not_read(
    folder, made, spoil, tmp_path, monkeypatch
):
    elsewhere = tmp_path / "elsewhere"
    if spoil == "a file":
        folder.parent.mkdir()
        folder.write_text("")
    elif spoil == "a link":
        ask(elsewhere)
        folder.parent.mkdir()
        folder.symlink_to(elsewhere)
    else:
        ask(folder)
        if spoil == "shared":
            folder.chmod(0o770)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: -1)
    made.clear()
    assert ask(folder) == ask(folder) == [{"n": 1}]
    assert made == [QUERY, QUERY]


def test_a_folder_that_can_t_be_written_costs_time_alone(folder, made, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as refused:
        refused.setattr("pathlib.Path.write_text", refuse)
        refused.setattr("pathlib.Path.unlink", refuse)
        refused.setattr(memory, "MOST", 0)
        assert ask(folder) == ask(folder) == [{"n": 1}]
    assert made == [QUERY, QUERY]


def test_what_was_not_asked_for_longest_is_left_out(folder, made, monkeypatch):
    monkeypatch.setattr(memory, "MOST", 4)
    queries = [f"{QUERY} and n < {number}" for number in (7, 8, 9)]
    for query in (*queries[:2], queries[0], queries[2], queries[0]):
        ask(folder, query)
    assert made == queries
    kept = [json.loads(path.read_text())["value"] for path in folder.iterdir()]
    assert len(kept) == 4
    ask(folder, queries[1])
    assert made == [*queries, queries[1]]
