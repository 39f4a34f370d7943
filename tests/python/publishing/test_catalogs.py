"""Versions in a catalog of their own: how they are named there, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import CompilationError, DbtRuntimeError
from metastore_double import RememberedMetastore

from dbt_secure_spark import catalogs, warehouse
from dbt_secure_spark.published_state import (
    NotWritten,
    columns_of,
    fields_of,
    files_of_snapshots,
)
from dbt_secure_spark.queries import in_catalog_of_versions
from dbt_secure_spark.versions import definitions_of_versions, encoded, raw_reads

V = "s_versions.a__v20260101000000_0123abcd"
W = "s_versions.b__v20260101000000_0123abcd"


def metastore(catalog: str | None = "lake", **classes: str) -> RememberedMetastore:
    """A metastore beside catalogs of these classes."""
    found = RememberedMetastore("s", "s_versions")
    found.config.credentials.versions_catalog = catalog
    classes = {"lake": "org.apache.iceberg.spark.SparkCatalog", **classes}
    for name in ("spark_catalog", "lake", "nowhere", "old"):
        value = classes.get(name, "<undefined>")
        found.settings[f"spark.sql.catalog.{name}"] = value
    return found


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (f"select * from {V}", f"select * from lake.{V}"),
        (
            f"select '{V}' as v from {V} -- {V}",
            f"select '{V}' as v from lake.{V} -- {V}",
        ),
        (f"drop table if exists {V} purge", f"drop table if exists lake.{V} purge"),
        (f"select * from {V}.files", f"select * from lake.{V}.files"),
        (f"select {V}.x from {V}", f"select lake.{V}.x from lake.{V}"),
        (f"select * from lake.{V}", f"select * from lake.{V}"),
        (f"alter table `s_versions`.{V.split('.')[1]} set x", None),
        ("select s.a.x from s.a", "select s.a.x from s.a"),
    ],
)
def test_a_statement_names_the_catalog_of_versions_alone(statement, expected):
    expected = expected or statement.replace("`s_", "lake.`s_")
    assert in_catalog_of_versions(statement, "lake") == expected


GRAPH = {
    "nodes": {"t": {"relation_name": "s.t"}},
    "sources": {"r": {"relation_name": "lake.raw.x"}},
}


@pytest.mark.parametrize("catalog", ["lake", None])
def test_a_view_s_text_is_known_without_its_catalogs(catalog):
    adapter = metastore(catalog)
    adapter.snapshots = {V: 17}
    text = f"select * from {V} as a join s.t as t join lake.raw.x as x on a.id = t.id"
    named = catalogs.in_its_catalog(adapter, GRAPH, text)
    of_snapshot = " version as of 17" if catalog else ""
    assert f"{catalog or 'spark_catalog'}.{V}{of_snapshot} as a" in named
    assert "spark_catalog.s.t" in named and "join lake.raw.x" in named
    assert catalogs.without_its_catalog(adapter, named) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"select {V}.x, '{V}' from {V}", f"select {{V}}.x, '{V}' from {{V}}{{at}}"),
        (
            f"with a as (select * from {V}), b as (select 1) -- {V}\nfrom a, {V} b",
            f"with a as (select * from {{V}}{{at}}), b as (select 1) -- {V}"
            "\nfrom a, {V}{at} b",
        ),
        # What the parser of SQL does not know.
        (f"from {V} |> where x", "from {V}{at} |> where x"),
    ],
)
def test_a_view_names_the_snapshot_where_it_reads_a_version(text, expected):
    adapter = metastore()
    adapter.snapshots = {V: 17}
    named = catalogs.in_its_catalog(adapter, GRAPH, text)
    assert named == expected.format(V=f"lake.{V}", at=" version as of 17")
    assert catalogs.in_its_catalog(adapter, GRAPH, named) == named
    assert catalogs.without_its_catalog(adapter, named) == text


def test_all_versions_of_a_view_are_asked_for_in_one_statement_and_once():
    adapter = metastore()
    adapter.snapshots = {V: 17, W: 5}
    text = f"select * from {V} as a join {W} as b join {V} as c"
    named = catalogs.in_its_catalog(adapter, GRAPH, text)
    assert named.count("version as of 17") == 2 and "version as of 5 as b" in named
    catalogs.without_its_catalog(adapter, named)
    assert sum("snapshots" in each for each in adapter.sent) == 1


def test_a_snapshot_that_somebody_put_in_a_view_stays_in_its_text():
    """It is no text that this project has written, so the version is made anew."""
    adapter = metastore()
    adapter.snapshots = {V: 17}
    text = f"select * from lake.{V} version as of 18"
    assert catalogs.without_its_catalog(adapter, text) == text.replace("lake.", "")
    once = f"{text} union all select * from lake.{V}"
    for told, is_named in ((text, True), (once, False), (once[-len(text) :], False)):
        assert catalogs.names_snapshots(adapter, told) == is_named


def test_the_snapshot_comes_with_the_number_of_rows():
    adapter = metastore()
    first = catalogs.first_snapshot(V)
    # The second time, the snapshot is gone.
    for snapshot, known in ((17, {V: 17}), (None, {})):
        answers = {
            f"select count(*), ({first}) from {V}": [(3, snapshot)],
            f"select '{V}' as version, ({first})": [(V, None)],
        }
        adapter.execute = lambda query, fetch, answers=answers: (
            None,
            SimpleNamespace(rows=answers[query]),
        )
        assert catalogs.rows_with_snapshot(adapter, V) == 3
        assert catalogs.snapshots_of(adapter, [V]) == known


def test_a_version_without_its_snapshot_is_shown_by_no_view():
    adapter = metastore()
    adapter.snapshots = {V: 17, W: None}
    assert catalogs.has_its_snapshot(adapter, V)
    assert not catalogs.has_its_snapshot(adapter, W)
    # One has been dropped: nothing is known of it, and all of the others.
    dropped = V.replace("a__v", "c__v")
    adapter.snapshots_written.clear()
    assert catalogs.snapshots_of(adapter, [dropped, W, V]) == {V: 17}
    with pytest.raises(CompilationError, match=f"{W} no longer has the snapshot"):
        catalogs.in_its_catalog(adapter, GRAPH, f"select * from {V}, {W}")


def graph_of(*formats: str | None) -> dict:
    """A graph of stored models by their formats."""
    config = {"materialized": "published_view"}
    return {
        "nodes": {
            f"m{n}": {"name": f"m{n}", "config": config | {"file_format": each}}
            for n, each in enumerate(formats)
        }
    }


def test_a_version_is_of_the_format_of_its_catalog():
    catalogs.check_file_formats(metastore(), graph_of("iceberg", "ICEBERG"))
    catalogs.check_file_formats(metastore(None), graph_of("parquet", None, "delta"))
    with pytest.raises(CompilationError, match=r"'m1' and 1 more would not be stored"):
        catalogs.check_file_formats(metastore(), graph_of("iceberg", "parquet", None))
    with pytest.raises(CompilationError, match=r"'m0' would be stored as Iceberg, and"):
        catalogs.check_file_formats(metastore(None), graph_of("iceberg", "parquet"))


def test_the_catalog_of_versions_is_there_and_is_another_one():
    catalogs.check_catalogs(metastore())
    catalogs.check_catalogs(metastore(None))
    with pytest.raises(DbtRuntimeError, match="the session has no such catalog"):
        catalogs.check_catalogs(metastore("nowhere"))
    for name in ("spark_catalog", "a.b", ""):
        with pytest.raises(DbtRuntimeError, match="must be the name of a catalog"):
            catalogs.check_catalogs(metastore(name))


def test_databricks_has_its_own_catalog():
    adapter = metastore(None)
    adapter.config.credentials.method = "http"
    catalogs.check_catalogs(adapter)
    adapter.config.credentials.versions_catalog = "lake"
    with pytest.raises(DbtRuntimeError, match="leave it out on Databricks"):
        catalogs.check_catalogs(adapter)


def test_iceberg_is_not_the_catalog_of_views():
    session = "org.apache.iceberg.spark.SparkSessionCatalog"
    for catalog in ("lake", None):
        adapter = metastore(catalog, spark_catalog=session)
        with pytest.raises(
            DbtRuntimeError, match=r"catalog spark_catalog is Iceberg's"
        ):
            catalogs.check_catalogs(adapter)


@pytest.mark.parametrize(
    ("catalog", "there", "is_refused"),
    [
        ("lake", "lake.", False),
        ("lake", "`Lake`.", False),
        ("lake", "spark_catalog.", True),
        ("lake", "", True),
        ("lake", "old.", True),
        (None, "lake.", True),
        (None, "spark_catalog.", False),
        (None, "", False),
    ],
)
def test_versions_are_not_looked_for_in_another_catalog(catalog, there, is_refused):
    """They are known without it: a run would take one for the other, or drop it."""
    kept = f"kept_versions={encoded(W)}"
    told = {"s.a": f"View Text: select * from {there}{V}\nTable Properties: [{kept}]"}
    adapter = metastore(catalog)
    catalogs.refuse_versions_elsewhere(adapter, told, ["t_versions"])
    if not is_refused:
        catalogs.refuse_versions_elsewhere(adapter, told, ["s_versions"])
        return
    with pytest.raises(DbtRuntimeError, match=r"s\.a reads versions in the catalog"):
        catalogs.refuse_versions_elsewhere(adapter, told, ["s_versions"])


DESCRIBED = [
    ("user_id", "bigint", None),
    ("made", "struct<a:int,b:array<int>>", None),
    ("", "", ""),
    ("# Metadata Columns", "", ""),
    ("_partition", "struct<>", ""),
    ("", "", ""),
    ("# Detailed Table Information", "", ""),
    ("Location", "file:/lake/s_versions/a", ""),
    ("Provider", "iceberg", ""),
    ("Table Properties", "[current-snapshot-id=17,raw_reads={reads},x=y]", ""),
]


class Catalog(RememberedMetastore):
    """A metastore beside a catalog that describes one version, and tells its files."""

    def __init__(self, path: str = "file:/lake/s_versions/a/data/0.parquet") -> None:
        super().__init__("s", "s_versions")
        self.config.credentials.versions_catalog = "lake"
        self.path = path
        # Another one than the table's current snapshot, which somebody has written.
        self.snapshot = 16

    def execute(self, statement, fetch=False):
        """Answer what is asked of the version."""
        reads = encoded("repository.jobs:20260101000000_0123abcd:3:4:5")
        rows = {
            "show tables in lake.s_versions like '*'": [
                ("s_versions", "claimed_by", False),
                ("s_versions", V.split(".")[1], False),
            ],
            f"describe table extended {V}": [
                (name, kind.replace("{reads}", reads), *rest)
                for name, kind, *rest in DESCRIBED
            ],
            f"select '{V}' as version, ({catalogs.first_snapshot(V)})": [
                (V, self.snapshot)
            ],
            f"select '{V}' as version, file_path, file_size_in_bytes from {V}.files"
            " version as of 16": [(V, self.path, 12)],
        }[statement]
        return None, type("Answer", (), {"rows": rows})


def test_a_version_of_iceberg_is_told_as_others_are():
    ((name, told),) = definitions_of_versions(Catalog(), "s_versions").items()
    assert f"s_versions.{name}" == V
    (read,) = raw_reads(told)
    assert (read.table, read.rows) == ("repository.jobs", 3)
    columns = [["user_id", "bigint"], ["made", "struct<a:int,b:array<int>>"]]
    assert columns_of(fields_of(told)["Schema"]) == columns


def test_the_files_of_a_version_are_its_snapshot_s():
    told = {V: definitions_of_versions(Catalog(), "s_versions")[V.split(".")[1]]}
    assert files_of_snapshots(Catalog(), told) == {V: (16, [["data/0.parquet", 12]])}
    assert files_of_snapshots(Catalog(), {V: "Provider: parquet\nSchema: root\n"}) == {}


def test_a_version_whose_files_can_not_be_listed_is_not_written():
    told = {V: definitions_of_versions(Catalog(), "s_versions")[V.split(".")[1]]}

    class Broken(Catalog):
        def execute(self, statement, fetch=False):
            raise DbtRuntimeError("no such file")

    with pytest.raises(NotWritten, match="no such file"):
        files_of_snapshots(Broken(), told)
    without = Catalog()
    without.snapshot = None
    with pytest.raises(NotWritten, match="shows no snapshot of"):
        files_of_snapshots(without, told)


def test_a_catalog_may_not_show_where_a_schema_lies(monkeypatch):
    adapter = Catalog()
    adapter.config.credentials.method = "session"
    monkeypatch.setattr(warehouse, "session_parameters", lambda _: {})
    monkeypatch.setattr(warehouse, "start_session", lambda _: None)
    monkeypatch.setattr(warehouse, "tables_in", lambda *_: [])
    monkeypatch.setattr(warehouse, "described", lambda *_: {})
    told = []
    monkeypatch.setattr(warehouse.logger, "warning", told.append)
    warehouse.remove_folders(adapter, ["s_versions"], ["20260101000000_0123abcd"])
    assert "does not show where lake.s_versions lies" in told[0]
