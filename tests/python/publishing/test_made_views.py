"""How views are made, and whether they show what they were switched to."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from dbt.adapters.contracts.connection import ConnectionState
from dbt.adapters.secure_spark.connections import SecureSparkConnectionManager
from dbt_common.exceptions import DbtRuntimeError
from metastore_double import RememberedMetastore

from dbt_secure_spark import after_tests, hooks, switching, warehouse
from dbt_secure_spark.read_back import refuse_what_was_not_switched
from dbt_secure_spark.run import Run, Untested
from dbt_secure_spark.session import ANSI, OF_VIEWS, PATHS_ARE_KEPT, ZONE

METHODS = ["http", "odbc", "session", "thrift"]
OLD = "s_versions.a__v20260101000000_0123abcd"
NEW = "s_versions.a__v20260102000000_0123abcd"
READS = "select * from {}"


@pytest.fixture(autouse=True)
def no_dbt(monkeypatch):
    """Without a profile, the options of a command, and waiting for another run."""
    monkeypatch.setattr(hooks, "check_session", lambda _: None)
    monkeypatch.setattr(hooks, "option_to_read_some_rows", lambda: None)
    flags = SimpleNamespace(WHICH="build", DEFER=False)
    monkeypatch.setattr(hooks, "get_flags", lambda: flags)


def a_metastore(method: str = "thrift") -> RememberedMetastore:
    """Return a metastore in which a view shows an old version of its rows."""
    metastore = RememberedMetastore("s", "s_versions")
    credentials = metastore.config.credentials
    credentials.method = method
    if method == "session":
        SecureSparkConnectionManager.open(a_connection(credentials))
    metastore.relations["s", "a"] = {"kept_versions": "none"}
    metastore.texts["s", "a"] = READS.format(OLD)
    for version in (OLD, NEW):
        metastore.relations[tuple(version.split("."))] = {}
    return metastore


def a_connection(credentials: SimpleNamespace) -> SimpleNamespace:
    """Return an open connection: opening it again sets the parameters alone."""
    return SimpleNamespace(credentials=credentials, state=ConnectionState.OPEN)


def begin(metastore: RememberedMetastore) -> None:
    """Begin a run; the new version is written after that."""
    run = "20260102000000_0123abcd"
    hooks.begin_run(metastore, run, 1, ["s"], ["s"], ["s.a"])
    metastore.relations[tuple(NEW.split("."))] = {}


def switch(metastore: RememberedMetastore, query: str, name: str = "a") -> None:
    """Switch a view as the materializations do."""
    relation = SimpleNamespace(schema="s", identifier=name)
    switching.begin_switch(metastore, relation, query, [])
    metastore.relations.setdefault(("s", name), {"kept_versions": "none"})
    metastore.execute(f"alter view s.{name} as\n{query}")


# ---------------------------------------------------------------------------
# ANSI mode and time zone
# ---------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_views_are_made_without_ansi_mode_in_utc_whatever_the_method(method):
    metastore = a_metastore(method)
    metastore.settings |= {ANSI: "true", ZONE: "America/New_York"}
    begin(metastore)
    # A connection is that of all models of a thread, and a hook may set it.
    by_a_hook = {ANSI: "true", PATHS_ARE_KEPT: "false", ZONE: "Asia/Tokyo"}
    metastore.settings |= by_a_hook
    switch(metastore, READS.format(NEW))
    of_databricks = by_a_hook | {ANSI: "false", ZONE: "UTC"}
    assert metastore.settings == (
        of_databricks if method in ("http", "odbc") else OF_VIEWS
    )


@pytest.mark.parametrize("method", METHODS)
def test_an_engine_that_reads_no_escapes_stops_the_run_before_it(method):
    metastore = a_metastore(method)
    metastore.settings["spark.sql.parser.escapedStringLiterals"] = "true"
    with pytest.raises(DbtRuntimeError, match="escapedStringLiterals is true"):
        begin(metastore)


@pytest.mark.parametrize("method", METHODS)
def test_a_session_is_sent_no_settings_for_a_view(method):
    metastore = a_metastore(method)
    begin(metastore)
    metastore.sent.clear()
    switch(metastore, READS.format(NEW))
    # Its parameters are set before each statement.
    assert metastore.settings == OF_VIEWS or method in ("http", "odbc")
    settings = [each for each in metastore.sent if each.startswith("set ")]
    assert bool(settings) == (method != "session")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("answer", ["true", "TRUE", "<undefined>", None])
def test_an_engine_that_stays_in_ansi_mode_stops_the_run_before_it(method, answer):
    metastore = a_metastore(method)
    metastore.settings[ANSI] = answer
    metastore.set_to = lambda name, value: None
    if answer is None:
        metastore.ask_for = lambda name: []
    before = dict(metastore.relations)
    with pytest.raises(DbtRuntimeError, match="made in ANSI mode") as told:
        begin(metastore)
    assert f"{ANSI} is {answer or 'unknown'}" in str(told.value)
    assert metastore.relations == before
    assert warehouse.schema_properties(metastore, "s_versions").get("run", "") == ""


@pytest.mark.parametrize("method", METHODS)
def test_an_engine_that_stays_in_its_time_zone_stops_the_run_before_it(method):
    metastore = a_metastore(method)
    metastore.settings[ZONE] = "America/New_York"
    set_to = metastore.set_to
    metastore.set_to = lambda name, value: name != ZONE and set_to(name, value)
    before = dict(metastore.relations)
    with pytest.raises(DbtRuntimeError, match="made in another time zone") as told:
        begin(metastore)
    assert f"{ZONE} is America/New_York after" in str(told.value)
    assert metastore.relations == before


@pytest.mark.parametrize("method", METHODS)
def test_an_engine_that_refuses_the_setting_stops_the_run_with_what_it_says(method):
    metastore = a_metastore(method)

    def refuse(name, value):
        raise DbtRuntimeError("[CONFIG_NOT_AVAILABLE] it is not to be set")

    metastore.set_to = refuse
    with pytest.raises(DbtRuntimeError, match=r"(?s)set to false here: .*\[CONFIG_N"):
        begin(metastore)


def test_an_engine_that_answers_with_one_column_is_asked_nothing_else():
    metastore = a_metastore()
    metastore.ask_for = lambda name: [("false",)]
    with pytest.raises(DbtRuntimeError, match="made in ANSI mode") as told:
        begin(metastore)
    assert f"{ANSI} is unknown (the engine answers 'false')" in str(told.value)


def test_readers_objects_are_not_made_in_ansi_mode_either():
    metastore = a_metastore("http")
    metastore.set_to = lambda name, value: None
    with pytest.raises(DbtRuntimeError, match="made in ANSI mode"):
        hooks.hold_run(metastore, "c", 20, ["s"], ["s"], ["s.a"])


# ---------------------------------------------------------------------------
# What is read back
# ---------------------------------------------------------------------------


def asked_of(metastore: RememberedMetastore) -> list[str]:
    """Return the statements that the end of a run sends."""
    asked: list[str] = []
    execute = metastore.execute
    metastore.execute = lambda *a, **o: (asked.append(a[0]), execute(*a, **o))[1]
    return asked


def test_a_view_that_was_switched_ends_the_run_and_drops_what_it_no_longer_names():
    metastore = a_metastore()
    begin(metastore)
    for name in ("a", *(f"b{number}" for number in range(9))):
        switch(metastore, f"-- Rendered.\n{READS.format(NEW)};\n-- The end.", name)
        metastore.texts["s", name] = READS.format(NEW)
    asked = asked_of(metastore)
    hooks.end_run(metastore)
    assert sum("show table extended in s like" in each for each in asked) == 1
    assert not [each for each in asked if each.startswith("describe extended")]
    assert tuple(OLD.split(".")) not in metastore.relations
    assert tuple(NEW.split(".")) in metastore.relations


@pytest.mark.parametrize("statement", ["alter view", "create or replace view"])
def test_a_view_that_stays_where_it_was_is_an_error_and_nothing_is_dropped(statement):
    metastore = a_metastore()
    metastore.unmoved.add(("s", "a"))
    begin(metastore)
    switch(metastore, READS.format(NEW))
    metastore.execute(f"{statement} s.a as {READS.format(NEW)}")
    before = dict(metastore.relations)
    asked = asked_of(metastore)
    with pytest.raises(DbtRuntimeError, match=r"do not show .* before: s\.a\. No"):
        hooks.end_run(metastore)
    assert metastore.relations == before, "the lock of a dead run too"
    assert not [each for each in asked if each.startswith("drop")]

    # The next run clears away, and repairs.
    metastore.unmoved.clear()
    metastore.dbt_run = None
    run = Run(metastore, "20260103000000_0123abcd", 1, ["s"], ["s"], ["s.a"])
    metastore.dbt_run = run
    run.begin(None)
    third = NEW.replace("20260102", "20260103")
    metastore.relations[tuple(third.split("."))] = {}
    switch(metastore, READS.format(third))
    hooks.end_run(metastore)
    assert [name for _, name in metastore.relations] == ["a", third.split(".")[1]]


@pytest.mark.parametrize("text", [READS.format(OLD), "select 1", None])
def test_a_view_whose_version_stays_is_read_back_too(text):
    metastore = a_metastore()
    begin(metastore)
    metastore.dbt_run.kept["s.a"] = READS.format(OLD)
    # Somebody replaces or drops it while the run goes on.
    if text is None:
        del metastore.relations["s", "a"]
    metastore.texts["s", "a"] = text
    is_shown = text == READS.format(OLD)
    with nullcontext() if is_shown else pytest.raises(DbtRuntimeError, match=r"s\.a"):
        hooks.end_run(metastore)
    assert tuple(OLD.split(".")) in metastore.relations


def test_the_lock_is_held_while_views_are_read_back():
    metastore = a_metastore()
    begin(metastore)
    switch(metastore, READS.format(NEW))
    done = []
    run = metastore.dbt_run
    run.lock.check = lambda: done.append("asked for the lock")
    show = metastore.show_extended
    metastore.show_extended = lambda *a: (done.append("read back"), show(*a))[1]
    drop = metastore.drop
    metastore.drop = lambda *a: (done.append("dropped"), drop(*a))[1]
    run.lock.release = lambda: done.append("released")
    hooks.end_run(metastore)
    order = list(dict.fromkeys(done))
    assert order == ["asked for the lock", "read back", "dropped", "released"]


@pytest.mark.parametrize(
    ("query", "told", "is_shown"),
    [
        ("select 1", "View Text: select 1\nView Schema Mode: x", True),
        ("-- a\nselect 1 -- b\n;", "View Text: select 1\n", True),
        ("select\n    a, b\nfrom c", "View Text: select a, b from c", True),
        # A rule that changed and reads the same version.
        (
            f"select * from {NEW} where a = 1",
            f"View Text: select * from {NEW} where a = 2",
            False,
        ),
        # A rule that was taken away, and one that came.
        ("select 1", "View Text: select 1 union all select 2\nType: VIEW", False),
        ("select 1", "View Text: select 2 union all select 1\nType: VIEW", False),
        ("select 1", "View Text: select a\nB: 1\nType: VIEW", False),
        ("select a\nB: 1", "View Text: select a\nB: 1\nType: VIEW", True),
        ("select 'a  b'", "View Text: select 'a b'\nType: VIEW", False),
        ("select `a  b`", "View Text: select `a b`\nType: VIEW", False),
        ("select 'a' 'b'", "View Text: select 'a''b'\nType: VIEW", False),
        ("select 'a', -- b\n 1", "View Text: select  'a',1;\nType: VIEW", True),
        (READS.format(NEW), f"View Text: {READS.format(OLD)}", False),
        (READS.format(NEW), "", False),
        # A catalog that tells no text can't be believed.
        (READS.format(NEW), "Table Properties: [kept_versions=none]", False),
        # The version stands in what is kept, and not in the query.
        (
            READS.format(NEW),
            f"View Text: {READS.format(OLD)}\nTable Properties: [kept_versions={NEW}]",
            False,
        ),
        # Spark puts a value in the place of a variable.
        (f"select '${{a}}' from {NEW}", f"View Text: select 'b' from {NEW}", True),
        (f"select '${{a}}' from {NEW}", f"View Text: select 'b' from {OLD}", False),
        ("select '${a}'", "", False),
    ],
)
def test_a_view_shows_the_query_that_the_catalog_tells(query, told, is_shown):
    if is_shown:
        refuse_what_was_not_switched({"s.a": query}, {"s.a": told})
    else:
        with pytest.raises(DbtRuntimeError, match=r": s\.a\."):
            refuse_what_was_not_switched({"s.a": query}, {"s.a": told})


def result_of(unique_id: str, relation: str | None, status: str) -> SimpleNamespace:
    """Return a node's result as dbt hands it to a hook."""
    node = SimpleNamespace(unique_id=unique_id, relation_name=relation)
    return SimpleNamespace(node=node, status=status, message="")


@pytest.mark.parametrize("level", ["warn", "error"])
def test_what_waits_when_a_switch_fails_is_no_success(level, monkeypatch):
    """The first view is switched, and the second fails before the others are."""

    def refuse(_adapter, _run, _graph, view):
        if view.unique_id != "a":
            raise DbtRuntimeError("the metastore is gone")

    monkeypatch.setattr(after_tests, "_switch", refuse)
    metastore = a_metastore()
    begin(metastore)
    names = ("a", "b", "c", "d")
    for name in names:
        metastore.dbt_run.untested[f"s.{name}"] = Untested(
            name, None, "select 1", set(), "waits", is_narrowed=name != "d"
        )
    node = {"resource_type": "model", "depends_on": {"nodes": []}}
    graph = {"nodes": {name: node | {"name": name} for name in names}}
    results = [result_of(name, f"s.{name}", "success") for name in names]
    with pytest.raises(DbtRuntimeError, match="the metastore is gone"):
        after_tests.switch_tested(metastore, graph, results, level)
    statuses = [result.status for result in results]
    assert statuses == ["success", level, level, "error"]
    assert all("the run failed at its end" in each.message for each in results[1:])
    # The last hook finds nothing more to do.
    after_tests.switch_tested(metastore, graph, results, level)
    assert [result.status for result in results] == statuses


def test_what_dbt_has_told_as_failed_is_told_once():
    metastore = a_metastore()
    metastore.unmoved.add(("s", "a"))
    begin(metastore)
    switch(metastore, READS.format(NEW))
    results = [result_of("a", "`s`.`A`", "error"), result_of("a hook", None, "success")]
    hooks.end_run(metastore, results)
    assert tuple(OLD.split(".")) in metastore.relations, "which the view still shows"
    assert results[0].message == ""


@pytest.mark.parametrize("status", ["success", "error"])
def test_a_view_that_was_not_switched_is_an_error_for_machines(status):
    """Also if the run has narrowed it, and its status is an error by `stayed`."""
    metastore = a_metastore()
    metastore.unmoved.add(("s", "a"))
    begin(metastore)
    switch(metastore, READS.format(NEW))
    if status == "error":
        metastore.dbt_run.stayed["a"] = "It is narrowed."
    results = [result_of("a", "`s`.`A`", status), result_of("b", "s.b", "success")]
    with pytest.raises(DbtRuntimeError, match=r"rows and rights of before: s\.a\."):
        hooks.end_run(metastore, results)
    assert [result.status for result in results] == ["error", "success"]
    assert "these views do not show what they were switched to" in results[0].message


def test_readers_views_are_read_back_in_a_schema_of_their_own():
    metastore = a_metastore()
    hooks.hold_run(metastore, "c", 20, ["s"], ["s"], ["s.a"])
    metastore.schemas["s_readers"] = {}
    metastore.relations["s_readers", "a"] = {}
    relation = SimpleNamespace(schema="s_readers", identifier="a")
    switching.note_switch(metastore, relation, "select 2")
    metastore.texts["s_readers", "a"] = "select 1"
    with pytest.raises(DbtRuntimeError, match=r"s_readers\.a"):
        hooks.end_run(metastore)
