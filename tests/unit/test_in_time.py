"""Versions whose rows hold for a time: how views show them, and what may store them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import CompilationError

from dbt_secure_spark import layout
from dbt_secure_spark.in_time import NOW, InTime, holds_in_time, of_columns
from dbt_secure_spark.one_state import in_time_of, whole_versions, with_versions
from dbt_secure_spark.versions import Published
from secure_datasets.installed import rights_kept

STAGED, PATHS, ACCESS = "stg_members", "int_paths", "vw_access"
VERSION = "lake_versions.{}__v20260601120000_00000000"


def node(name: str, *parents: str, **config) -> dict:
    """Return a model as dbt knows it."""
    kept = {"materialized": "published_view"} | config
    return {
        "unique_id": name,
        "name": name,
        "alias": name,
        "schema": "lake",
        "relation_name": f"lake.{name}",
        "resource_type": "model",
        "package_name": config.pop("package", "customer"),
        "fqn": ["customer", "marts"],
        "config": kept,
        "depends_on": {"nodes": [*parents]},
    }


def graph(*more: dict, limits: bool = True) -> dict:
    """Return the graph of a chain of rights, whose staged rows may have limits."""
    of_stage = {"in_time": "is_live"} if limits else {}
    chain = (
        node(STAGED, **of_stage),
        node("stg_users"),
        node(PATHS, STAGED, "stg_users", in_time=True),
        node(ACCESS, PATHS, in_time=True),
    )
    return {"nodes": {each["name"]: each for each in (*chain, *more)}, "sources": {}}


@pytest.mark.parametrize("clock", [NOW, "timestamp '2026-05-01 00:00:00.000001Z'"])
@pytest.mark.parametrize("flag", [None, "is_live"])
def test_a_view_is_read_back_as_it_was_written(flag, clock):
    shown = InTime(flag, clock)
    for version in (VERSION, "spark_catalog." + VERSION):
        told = f"Type: VIEW\nView Text: {shown.published_rows(version)}\nProperties: ["
        assert InTime.read(told) == shown
    assert InTime.read(f"select * from {VERSION}") is None


def test_a_version_tells_by_its_columns_how_it_is_shown():
    assert of_columns(["user_id", "holds_from"]) is None
    assert of_columns(["user_id", "holds_from", "holds_until"]) == InTime(None, NOW)
    staged = of_columns(["is_live", "holds_from", "holds_until"], "x")
    assert staged == InTime("is_live", "x")


def test_rows_hold_for_a_time_where_those_do_that_they_come_from():
    known, without = graph()["nodes"], graph(limits=False)["nodes"]
    found = [name for name in known if holds_in_time(known, known[name])]
    assert found == [STAGED, PATHS, ACCESS]
    assert not any(holds_in_time(without, each) for each in without.values())
    seed = {"config": {"materialized": "seed"}, "depends_on": {"macros": []}}
    assert not holds_in_time(without, seed)


def test_folders_and_a_time_are_refused_together_and_a_time_before_spark_4(monkeypatch):
    monkeypatch.setattr(layout, "rows_of", lambda *_: [("4.0.1 0",)])
    known = graph(node("both", PATHS, in_time=True, folders=4))
    assert in_time_of(None, known, known["nodes"][ACCESS], None) == InTime(None, NOW)
    past = in_time_of(None, known, known["nodes"][STAGED], "2026-05-01")
    assert past == InTime("is_live", "timestamp '2026-05-01 00:00:00Z'")
    with pytest.raises(CompilationError, match="'both' has rows that hold for a time"):
        in_time_of(None, known, known["nodes"]["both"], None)
    monkeypatch.setattr(layout, "rows_of", lambda *_: [("3.5.9 0",)])
    with pytest.raises(CompilationError, match="which need Spark 4"):
        in_time_of(None, known, known["nodes"][ACCESS], None)


@pytest.fixture
def adapter():
    """An adapter whose run has published the chain, all in time but the users."""
    names = (STAGED, "stg_users", PATHS, ACCESS)
    shapes = {STAGED: InTime("is_live", NOW), PATHS: InTime(None, NOW)}
    shapes[ACCESS] = InTime(None, NOW)
    told = {
        f"lake.{name}": shapes[name].published_rows(VERSION.format(name))
        if name in shapes
        else f"select * from {VERSION.format(name)}"
        for name in names
    }
    run = SimpleNamespace(
        published=Published(told), deferred=lambda parent: None, is_held=False
    )
    own = SimpleNamespace(credentials=SimpleNamespace(versions_catalog=None))
    return SimpleNamespace(dbt_run=run, config=own)


def test_a_stored_model_in_time_reads_whole_versions(adapter):
    known = graph()
    paths = known["nodes"][PATHS]
    found = whole_versions(adapter, known, paths)
    assert found == {f"lake.{STAGED}": VERSION.format(STAGED)}
    # The code of a Python model is no statement, which dbt's adapter would complete.
    adapter.config.credentials.versions_catalog = "iceberg"
    found = whole_versions(adapter, known, paths)
    assert found == {f"lake.{STAGED}": f"iceberg.{VERSION.format(STAGED)}"}
    plain = graph(limits=False)
    assert whole_versions(adapter, plain, plain["nodes"][PATHS]) == {}


@pytest.mark.parametrize("fault", ["written before", "deferred", "not there"])
def test_a_version_that_may_lack_limits_is_not_read(adapter, fault):
    known, run = graph(), adapter.dbt_run
    if fault == "written before":
        before = f"select * from {VERSION.format(STAGED)}"
        run.published.definitions[f"lake.{STAGED}"] = before
    elif fault == "deferred":
        run.deferred = lambda parent: "prod.stg_members"
    else:
        run.published.definitions.clear()
    with pytest.raises(CompilationError, match="reads 'stg_members', whose rows hold"):
        whole_versions(adapter, known, known["nodes"][PATHS])


def test_a_view_of_one_state_reads_what_holds_when_it_is_read(adapter):
    known = graph(node("secure", ACCESS, materialized="view"))
    sql = f"select a.user_id from lake.{ACCESS} as a join lake.stg_users as u on true"
    found, read = with_versions(adapter, known, known["nodes"]["secure"], sql, {})
    rows = InTime(None, NOW).published_rows(VERSION.format(ACCESS))
    assert f"from (\n{rows}\n) as a join" in found
    assert f"join {VERSION.format('stg_users')} as u" in found
    assert {*read} == {VERSION.format(name) for name in (ACCESS, "stg_users")}


def test_a_view_of_rows_from_before_their_time_was_declared_is_refused(adapter):
    known, told = graph(), adapter.dbt_run.published.definitions
    secure = node("secure", ACCESS, STAGED, materialized="view")
    sql = f"select * from lake.{ACCESS} union all select user_id from lake.{STAGED}"
    found, _ = with_versions(adapter, known, secure, sql, {})
    assert found.count("current_timestamp()") == 4
    for name in (ACCESS, STAGED):
        before = told[f"lake.{name}"]
        told[f"lake.{name}"] = f"select * from {VERSION.format(name)}"
        with pytest.raises(CompilationError, match=f"the rows of '{name}' outside"):
            with_versions(adapter, known, secure, sql, {})
        told[f"lake.{name}"] = before
    # What is a view by now was stored then.
    roles = node("roles", PATHS, materialized="view", in_time=True)
    inlined = f"select * from (\nselect * from {VERSION.format('roles')}\n) as roles"
    with pytest.raises(CompilationError, match="the rows of 'roles' outside"):
        with_versions(adapter, graph(roles), secure, inlined, {})


def test_what_is_stored_of_rights_in_time_is_refused():
    view = node("as_view", ACCESS, materialized="view")
    stored = [
        node("of_paths", PATHS),
        node("of_a_view", "as_view", materialized="table"),
        node("of_stages", STAGED, materialized="incremental"),
        node("of_sql", PATHS, in_time=True) | {"language": "sql"},
    ]
    harmless = [
        node("handed_on", PATHS, in_time=True) | {"language": "python"},
        node("of_users", "stg_users"),
        node("seen", "as_view", materialized="ephemeral"),
    ]
    product = node("access_findings", PATHS, package="secure_datasets")
    product["fqn"] = ["secure_datasets", "review", "access_findings"]
    nodes = graph(view, *stored, *harmless, product)["nodes"]
    # The chain itself is Python.
    for name in (PATHS, ACCESS):
        nodes[name]["language"] = "python"
    nodes[STAGED] |= {"package_name": "secure_datasets", "fqn": ["", "staging", ""]}
    said = [sentence.split("'")[1] for sentence in rights_kept(nodes)]
    assert said == [each["name"] for each in stored]
    without = graph(view, *stored, *harmless, product, limits=False)["nodes"]
    assert not [*rights_kept(without)]
