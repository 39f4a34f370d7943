"""Nothing is lost, darkened or mixed by what is published when and from what."""

from __future__ import annotations

import copy
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from dbt.adapters.secure_spark.connections import SecureSparkConnectionManager
from dbt.adapters.secure_spark.impl import SecureSparkAdapter
from dbt.include.secure_spark import PACKAGE_PATH
from dbt_common.exceptions import CompilationError, DbtRuntimeError
from jinja2 import Environment
from lanes import nightly_but
from metastore_double import Relation, RememberedMetastore
from projects import ROOT
from small_project import plain_project

from dbt_secure_spark import (
    catalogs,
    hooks,
    left_behind,
    lineage,
    lock,
    one_state,
    settings,
    switching,
    warehouse,
)
from dbt_secure_spark import run as run_module
from dbt_secure_spark.lock import RunLock, RunLost, SignOfLife
from dbt_secure_spark.moments import micros_of, moment
from dbt_secure_spark.queries import (
    in_catalog,
    names,
    pieces_of_statement,
    replaced,
    without_catalog,
)
from dbt_secure_spark.raw_tables import (
    columns_of,
    has_changed,
    raw_rows_as_of,
    raw_snapshots,
    read_raw,
)
from dbt_secure_spark.read_back import refuse_what_was_not_switched
from dbt_secure_spark.run import Run, note_rules
from dbt_secure_spark.session import ANSI, OF_VIEWS, with_settings
from dbt_secure_spark.settings import (
    EXPECTED,
    check_spelling_of_vars,
    check_vars,
    schema_name,
)
from dbt_secure_spark.versions import (
    NAMED_VERSION,
    Published,
    RawRead,
    comment,
    decoded,
    definitions,
    encoded,
    is_published,
    raw_reads,
    shown,
    versions_kept,
    versions_read,
)
from secure_datasets.sql.expressions import sql_text

needs_spark = pytest.mark.spark
SCHEMA, RAW = "publishing_tests", "publishing_raw"
READERS = f"{SCHEMA}_readers"
VERSIONS = f"{SCHEMA}_versions"
VERSION_1 = "__v20260101000000_0123abcd"
# A catalog that any session may give itself.
OF_A_READER = {
    "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    ".url": "jdbc:derby:memory:readers;create=true",
    ".driver": "org.apache.derby.jdbc.EmbeddedDriver",
}

OTHER = "publishing_tests_versions.other__v20260101000000_0123abcd"
# What a description may hold without being taken for what it isn't.
DESCRIPTION = (
    f'It\'s one row\nper \\"thing", ${{user}} and C:\\new: kept_versions={OTHER}]'
    f"\nTable Properties: [raw_reads=none, kept_versions=hex_41]\nView Text: {OTHER}"
    "\n\nMore of it."
)
# Rights and rows come from raw tables of their own, as in the project itself.
FILES = {
    "models/sources.yml": f"""\
sources:
  - name: raw
    schema: {RAW}
    config:
      loaded_at_field: loaded
    tables: [{{name: grants}}, {{name: things}}]
""",
    "models/stg_grants.sql": (
        "select user_id, thing_id from {{ source('raw', 'grants') }}"
    ),
    "models/stg_things.sql": "select thing_id, name from {{ source('raw', 'things') }}",
    "models/access.sql": "select user_id, thing_id from {{ ref('stg_grants') }}",
    "models/base.sql": "select thing_id, name from {{ ref('stg_things') }}",
    "models/secure.sql": (
        "{{ config(materialized='view', schema=var('readers', none)) }}\n"
        "select base.thing_id, base.name, access.user_id\n"
        "from {{ ref('base') }} as base\n"
        "inner join {{ ref('access') }} as access on base.thing_id = access.thing_id"
    ),
    "seeds/colours.csv": "id,name\n1,red\n",
    "models/models.yml": yaml.safe_dump(
        {
            "models": [
                {"name": n, "description": DESCRIPTION} for n in ("base", "secure")
            ]
        }
    ),
}


# What the raw tables hold at first, and what the secure view shows of it.
AT_FIRST = {"grants": [(8, 1), (9, 1)], "things": [(1, "one")]}
SEEN_AT_FIRST = {("one", 8), ("one", 9)}
RELATIONS = ("stg_grants", "stg_things", "access", "base", "secure", "colours")


@pytest.fixture(scope="module")
def folder(product, tmp_path_factory) -> Path:
    """A project with a secure view over rows and rights."""
    folder = tmp_path_factory.mktemp("published") / "project"
    outputs = {"capital": SCHEMA.title(), "other": f"{SCHEMA}_other"}
    return plain_project(folder, product, SCHEMA, FILES, **outputs)


@pytest.fixture(scope="module")
def load(spark) -> Callable[..., None]:
    """Load the raw tables anew: `load(grants=[(8, 1)], things=[(1, "one")])`."""
    spark.sql(f"create schema if not exists {RAW}")

    def call(**tables: list[tuple]) -> None:
        columns = {"grants": "user_id, thing_id", "things": "thing_id, name"}
        for table, rows in tables.items():
            values = ", ".join(str((*row, "2026-01-01 00:00:00")) for row in rows)
            spark.sql(f"drop table if exists {RAW}.{table}")
            spark.sql(
                f"create table {RAW}.{table} using parquet as select * from"
                f" values {values} as t ({columns[table]}, loaded)"
            )
        call.loaded |= tables

    call.loaded = {}
    return call


@pytest.fixture(scope="module")
def built_once(spark, dbt, folder, load) -> Callable[..., object]:
    """The project after its first whole run; calls dbt on it."""
    for schema in (SCHEMA, VERSIONS, READERS, f"{SCHEMA}_other"):
        spark.sql(f"drop schema if exists {schema} cascade")
    spark.sql(f"drop schema if exists {SCHEMA}_other_versions cascade")

    def call(*arguments: str, fails: bool = False):
        result = dbt(*arguments, folder=folder)
        assert result.success is not fails, result.exception
        return result

    load(**AT_FIRST)
    call("build")
    return call


@pytest.fixture
def fresh(spark, built_once, load, seen) -> Callable[..., object]:
    """Show the rows and rights of first; `fresh(*arguments)` calls dbt."""
    is_whole = all(spark.catalog.tableExists(f"{SCHEMA}.{name}") for name in RELATIONS)
    if load.loaded != AT_FIRST or not is_whole or seen() != SEEN_AT_FIRST:
        load(**AT_FIRST)
        built_once("build")
    return built_once


@pytest.fixture
def printed(capfd) -> Callable[[], str]:
    """What was printed since the last call, on one line."""
    return lambda: " ".join(capfd.readouterr().out.split())


@pytest.fixture
def seen(spark) -> Callable[..., set[tuple]]:
    """What the secure view shows: name and user."""

    def rows(schema: str = SCHEMA) -> set[tuple]:
        found = spark.sql(f"select name, user_id from {schema}.secure").collect()
        return {tuple(row) for row in found}

    return rows


def message(result) -> str:
    """What a failed command says."""
    failed = [str(entry.message) for entry in result.result or [] if entry.message]
    return " ".join([str(result.exception), *failed])


# What the metastore tells


def test_versions_are_read_whatever_the_case_of_the_schema():
    told = (
        "View Text: select * from Some_Schema_versions.a__v20260101000000_0123ABCD\n"
        "Table Properties: [kept_versions=x_versions.a__v20250101000000_0123abcd"
        " x_versions.a__v20240101000000_0123abcd, other=1]"
    )
    assert versions_read(told) == ["some_schema_versions.a__v20260101000000_0123abcd"]
    assert len(versions_kept(told)) == 2
    assert is_published(told)
    assert not is_published("Type: VIEW\nView Text: select 1")


def test_what_was_read_of_a_raw_table_is_written_and_read():
    read = RawRead("raw.users", "20260101000000_0123abcd", 3, -7, None)
    assert raw_reads(f"Table Properties: [raw_reads={read}, other=1]") == {read}
    assert raw_reads("Table Properties: [raw_reads=none, other=1]") == frozenset()
    assert raw_reads("Table Properties: [other=1]") is None
    assert raw_reads("Table Properties: [raw_reads=a:b:c:d:e, other=1]") is None


def test_a_relation_that_is_dropped_while_it_is_asked_for_is_asked_for_again():
    class Dropping:
        """Stands for an adapter while others drop relations of a schema."""

        left = 3

        def execute(self, statement: str, fetch: bool = False):
            if self.left:
                self.left -= 1
                raise DbtRuntimeError("[TABLE_OR_VIEW_NOT_FOUND] s.a")
            return None, SimpleNamespace(rows=[("s", "B", False, "told")])

    assert definitions(Dropping(), "s") == {"b": "told"}
    adapter = Dropping()
    adapter.left = 100
    with pytest.raises(DbtRuntimeError, match="NOT_FOUND"):
        definitions(adapter, "s")


def test_a_version_that_does_not_say_what_it_was_read_from_is_of_no_known_state():
    published = Published(reads={"v.a__v1": None, "v.b__v1": frozenset()})
    (unknown,) = published.reads_of(["v.a__v1", "v.b__v1"])
    assert unknown.rows is None
    assert not unknown.found_the_same(unknown)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from s.a", "select * from V"),
        ("select * from S.A as a", "select * from V as a"),
        ("select s.a.id from s.a, s.ab, x.s.a", "select V.id from V, s.ab, x.s.a"),
        ("select 's.a', \"s.a\" from s.a", "select 's.a', \"s.a\" from V"),
        ("select 'it\\'s s.a' from s.a", "select 'it\\'s s.a' from V"),
        ("select 'it''s s.a' from s.a", "select 'it''s s.a' from V"),
        (
            "select r'\\' from s.a where x = 's.a'",
            "select r'\\' from V where x = 's.a'",
        ),
        ("-- it's s.a\nselect 1 from s.a", "-- it's s.a\nselect 1 from V"),
        ("/* it's\ns.a */ select 1 from s.a", "/* it's\ns.a */ select 1 from V"),
        (
            "select `it's` from s.a where b = 'x'",
            "select `it's` from V where b = 'x'",
        ),
        # Comments stand in comments, and a hint is none.
        (
            "/* a /* b */ it's */ select 1 from s.a where x = 'y'",
            "/* a /* b */ it's */ select 1 from V where x = 'y'",
        ),
        (
            "/* s.a /*/ s.a */*/ select * from s.a",
            "/* s.a /*/ s.a */*/ select * from V",
        ),
        ("/* /*+ */ select 'it' from s.a", "/* /*+ */ select 'it' from V"),
        ("select /*+ broadcast(s.a) */ 1 from s.a", None),
        # A line ends as for Spark.
        ("select 1 -- it's\rfrom s.a", "select 1 -- it's\rfrom V"),
        ("select 1 -- it's\\\ns.a\nfrom s.a", "select 1 -- it's\\\ns.a\nfrom V"),
        # What is called as it is and is none: a function, a column, a part of one.
        ("select s.a(1) from s.a", "select s.a(1) from V"),
        ("select s.a from s.a, t as s", "select s.a from V, t as s"),
        ("select s.a.id from t as s", "select s.a.id from t as s"),
        ("select f(s).s.a, transform(x, s -> s.a) from t", None),
        ("select 1 from t where extract(year from s.a) = 1", None),
        ("select s.a.* from s.a", "select V.* from V"),
        ("select * from f(table(s.a)), s.a.b", "select * from f(table(V)), s.a.b"),
        # What can't be parsed names what it may.
        ("from s.a |> select s.a.id", "from V |> select V.id"),
        ("select * from `s`.`a`", "select * from `s`.`a`"),
    ],
)
def test_a_relation_s_name_is_replaced_outside_of_texts_and_comments(sql, expected):
    if expected is None:
        expected = sql.replace("1 from s.a", "1 from V")
    assert replaced(sql, "s.a", "V") == expected
    assert names(sql, "s.a") == (expected != sql)


@pytest.mark.parametrize("catalog", ["spark_catalog", "`a.b c`"])
@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            f"select s.a.id from s.a join S.B as b on true, s_versions.c{VERSION_1}",
            "select C.s.a.id from C.s.a join C.S.B as b on true,"
            f" C.s_versions.c{VERSION_1}",
        ),
        (
            f"select 's.a' from s.ab, x.s.a -- s_versions.c{VERSION_1}",
            f"select 's.a' from s.ab, x.s.a -- s_versions.c{VERSION_1}",
        ),
        (
            f"select '{{C}}.s.a' from s.a where x = 'it\\'s s_versions.c{VERSION_1}'",
            f"select '{{C}}.s.a' from C.s.a where x = 'it\\'s s_versions.c{VERSION_1}'",
        ),
        # What is called as a schema is, or as the catalog, and is none.
        ("select s.a from f.b as s", "select s.a from f.b as s"),
        ("select s.a.id from f.b as s", "select s.a.id from f.b as s"),
        (
            "select {C}.id, {C}.x.y from s.a as {C} where b.id = {C}.id",
            "select {C}.id, {C}.x.y from C.s.a as {C} where b.id = {C}.id",
        ),
        # A function's schema is looked for in the catalog, too.
        (
            "select hr.f(a.id), builtin.abs(1), x.hr.f(1), 'hr.f(1)' from s.a, hr.g(8)",
            "select C.hr.f(a.id), builtin.abs(1), x.hr.f(1), 'hr.f(1)' from C.s.a,"
            " C.hr.g(8)",
        ),
        ("select `HR`.f(1), hr.f from `s`.a", "select C.`HR`.f(1), hr.f from C.`s`.a"),
        ("select hr.f(1) |> select s.a.id", "select C.hr.f(1) |> select C.s.a.id"),
    ],
)
def test_a_view_names_the_catalog_of_what_it_reads(sql, expected, catalog):
    sql = sql.replace("{C}", catalog)
    named = in_catalog(sql, rf"{NAMED_VERSION.pattern}|s\.a|s\.b", catalog, {"hr"})
    wanted = expected.replace("{C}", catalog)
    assert named == re.sub(r"\bC\.", lambda _: f"{catalog}.", wanted)
    assert without_catalog(named, catalog) == sql


def test_the_schemas_of_functions_are_those_that_the_catalog_has():
    metastore = RememberedMetastore("s", "hr")
    sql = "select hr.f(1), builtin.abs(1) from s.a"
    graph = a_graph(a={})
    assert catalogs.in_its_catalog(metastore, graph, sql) == (
        "select spark_catalog.hr.f(1), builtin.abs(1) from spark_catalog.s.a"
    )


def test_a_condition_on_an_alias_that_is_called_as_the_catalog_is_stays_whole():
    text = (
        "select 1 from lake.s.a as a where exists (select 1 from lake.s.tests as lake"
        " where a.test_id = lake.test_id)"
    )
    assert without_catalog(text, "lake") == text.replace("lake.s.", "s.")


@pytest.mark.nightly
@needs_spark
def test_a_reader_s_own_catalog_is_not_read_in_a_view(fresh, spark, seen):
    """A session may call a catalog as a schema is called, and put tables there."""
    from pyspark.errors import AnalysisException

    reader, before = spark.newSession(), seen()
    for schema in (SCHEMA, VERSIONS):
        for key, value in OF_A_READER.items():
            reader.conf.set(f"spark.sql.catalog.{schema}{key}", value)
    relation = f"{SCHEMA}.secure"
    with pytest.raises(AnalysisException):
        reader.table(relation)
    rows = reader.table(f"spark_catalog.{relation}").select("name", "user_id")
    assert {tuple(row) for row in rows.collect()} == before


@needs_spark
def test_a_reader_s_own_catalog_is_not_asked_for_a_function_in_a_view(spark):
    schema = f"{SCHEMA}_hr"
    view = f"{schema}.seen"
    spark.sql(f"create schema {schema}")
    try:
        spark.sql(
            f"create function {schema}.may_see(x bigint) returns boolean return x > 0"
        )
        spark.sql(
            f"create function {schema}.ids(x bigint) returns table (id bigint)"
            " return select explode(array(ids.x))"
        )
        sql = f"select a.id from {schema}.ids(8) as a where {schema}.may_see(a.id)"
        graph = {"nodes": {}, "sources": {}}
        adapter = publishing_adapter(spark)
        named = catalogs.in_its_catalog(adapter, graph, sql)
        spark.sql(f"create view {view} as {named}")
        assert catalogs.text_of_view(adapter, view) == sql
        reader = spark.newSession()
        for key, value in OF_A_READER.items():
            reader.conf.set(f"spark.sql.catalog.{schema}{key}", value)
        assert reader.table(f"spark_catalog.{view}").collect() == [(8,)]
    finally:
        spark.sql(f"drop schema {schema} cascade")


def test_a_description_is_taken_for_nothing_else():
    written = comment(None, DESCRIPTION)
    told = f"Comment: {written}\nView Text: x\nTable Properties: [comment={written}]"
    assert "\n" not in written
    assert "More" not in written
    assert not is_published(told)
    assert versions_kept(told) == versions_read(told) == []
    assert raw_reads(told) is None
    assert len(comment(None, "long " * 1000)) < 2_010


@needs_spark
@pytest.mark.nightly
def test_a_description_is_that_of_the_relation_and_of_nothing_else(
    fresh, seen, spark, folder
):
    def comments(name: str) -> list[str]:
        described = spark.sql(f"describe extended {SCHEMA}.{name}").collect()
        return [row.data_type for row in described if row.col_name == "Comment"]

    # Of views that were made, and of those that were altered.
    for _ in range(2):
        for name in ("base", "secure"):
            (text,) = comments(name)
            assert text.startswith(
                'It\'s one row per \\"thing", ${user} and C:\\new: kept'
            )
            assert OTHER not in text
        assert seen() == SEEN_AT_FIRST
        told = definitions(publishing_adapter(spark), SCHEMA)
        assert [len(versions_read(told[name])) for name in ("base", "secure")] == [1, 2]
        fresh("run", "--select", "base", "secure")
    # One that is no longer written is taken away.
    without = "{{ config(persist_docs={'relation': false}) }}\n"
    (folder / "models/base.sql").write_text(without + FILES["models/base.sql"])
    try:
        fresh("run", "--select", "base")
    finally:
        (folder / "models/base.sql").write_text(FILES["models/base.sql"])
    assert not any(comments("base"))


def publishing_adapter(spark) -> SimpleNamespace:
    """Stands for dbt's adapter, which asks this session."""

    def execute(query: str, fetch: bool = False):
        return None, SimpleNamespace(
            rows=[tuple(r) for r in spark.sql(query).collect()]
        )

    own = SimpleNamespace(credentials=SimpleNamespace(versions_catalog=None))
    return SimpleNamespace(execute=execute, config=own)


def spark_adapter(spark) -> SimpleNamespace:
    """Stands for the same; failures are dbt's."""
    adapter = publishing_adapter(spark)
    asked = adapter.execute

    def execute(query: str, fetch: bool = False):
        try:
            return asked(query, fetch)
        except Exception as failure:
            raise DbtRuntimeError(str(failure)) from failure

    adapter.execute = execute
    return adapter


# Views are read back, and made without ANSI mode


@pytest.fixture
def in_place_of(monkeypatch) -> Callable[[str, str], None]:
    """Let Spark get another statement for those that begin so."""
    changes: dict[str, str] = {}
    add_query = SecureSparkConnectionManager.add_query

    def changed(self, sql: str, *arguments: object, **options: object) -> object:
        for start, by in changes.items():
            if sql.split("*/")[-1].strip().lower().startswith(start):
                sql = by
        return add_query(self, sql, *arguments, **options)

    monkeypatch.setattr(SecureSparkConnectionManager, "add_query", changed)
    return changes.__setitem__


# Queries as models have them: Spark keeps no comment before or after one.
QUERIES = [
    "-- Rendered.\nselect 1 as a -- one\n",
    "\n\n/* a /* nested */ one */ select\r\n\t1 as a,\n  'it''s' as b;\n-- the end",
    "with a as (\n    -- A comment inside, with a quote's sign.\n    select 1 as b\n)\n"
    "select /*+ broadcast(a) */ * from a",
    "(select 1 as a)",
    r"select '\u0024{x} \\ \'' as a, r'\d' as `b``c`, x'41' as d",
    "select 'ä 中 \U0001f600 \u2028 \x85' as a",
    "select 1 as a from (values (1)) as t (b)"
    " lateral view inline(array(named_struct('b', b))) guarded as c where c = 1",
    "select '" + "x" * 20_000 + "' as a",
]


@needs_spark
def test_what_the_catalog_tells_of_a_view_has_its_query_in_it(spark):
    schema, adapter = "publishing_read_back", publishing_adapter(spark)
    spark.sql(f"create schema {schema}")
    try:
        for number, query in enumerate(QUERIES):
            for statement in ("create view {} as\n{}", "alter view {} as\n{}"):
                spark.sql(statement.format(f"{schema}.v{number}", query))
                told = definitions(adapter, schema)[f"v{number}"]
                refuse_what_was_not_switched({"v": query}, {"v": told})
                with pytest.raises(DbtRuntimeError, match="do not show"):
                    other = " ".join(["select 7,", *pieces_of_statement(query)[1:]])
                    refuse_what_was_not_switched({"v": other}, {"v": told})
                spark.sql(f"alter view {schema}.v{number} as select 0 as z")
                told = definitions(adapter, schema)[f"v{number}"]
                with pytest.raises(DbtRuntimeError, match="do not show"):
                    refuse_what_was_not_switched({"v": query}, {"v": told})
    finally:
        spark.sql(f"drop schema {schema} cascade")


@needs_spark
def test_a_switch_without_effect_fails_the_run_and_the_next_one_repairs(
    fresh, load, seen, spark, in_place_of, monkeypatch
):
    """Of a view, a stored model and a seed."""

    def versions() -> set[str]:
        return {row[1] for row in spark.sql(f"show tables in {VERSIONS}").collect()}

    before = versions()
    load(grants=[(8, 1)])
    unmoved = [f"{SCHEMA}.{name}" for name in ("access", "colours", "secure")]
    for name in unmoved:
        in_place_of(f"alter view {name} as", "select 1")
    told = message(fresh("build", fails=True))
    assert f"rows and rights of before: {', '.join(unmoved)}. No" in told
    assert before < versions()
    assert seen() == SEEN_AT_FIRST
    monkeypatch.undo()
    fresh("build")
    assert seen() == {("one", 8)}


@needs_spark
def test_a_session_in_ansi_mode_publishes_nothing(
    fresh, seen, spark, in_place_of, monkeypatch
):
    told = spark.sql(f"show create table {SCHEMA}.secure").first()
    on = {f"set {ANSI} = false": "select 1", f"set {ANSI}": f"select '{ANSI}', 'true'"}
    for statement, by in on.items():
        in_place_of(statement, by)
    assert "made in ANSI mode" in message(fresh("build", fails=True))
    assert spark.sql(f"show create table {SCHEMA}.secure").first() == told
    assert seen() == SEEN_AT_FIRST
    monkeypatch.undo()


# New rows under old rights


@needs_spark
def test_new_rows_wait_for_their_rights_and_rights_for_the_secure_dataset(
    fresh, load, seen, spark, printed
):
    """Other orders of runs are played in test_orders_of_runs.py."""
    load(grants=[(8, 1)], things=[(1, "one"), (1, "new")])
    printed()
    fresh("run", "--select", "stg_things", "base", "secure")
    assert seen() == SEEN_AT_FIRST
    told = printed()
    assert "'secure' stays as it was: its rows and rights were read by several" in told
    assert "and raw.grants changed between. Run '+secure'." in told

    fresh("run", "--select", "stg_grants", "access")
    assert seen() == SEEN_AT_FIRST
    assert spark.sql(f"select user_id from {SCHEMA}.access").collect() == [(8,)]
    behind = "were not run, so they still show the rows and rights of before: secure."
    assert behind in printed()
    fresh("run", "--select", "secure")
    assert "of before" not in printed()
    assert seen() == {("one", 8), ("new", 8)}

    load(grants=[(9, 1)])
    # As the selector `rights` does: the rows have not moved, and are not worth a word.
    fresh("run", "--select", "stg_grants", "stg_things", "access", "secure")
    assert seen() == {("one", 9), ("new", 9)}
    told = printed()
    assert "rows and rights of before" not in told
    assert "as it was before" not in told


def test_a_version_that_a_query_names_after_what_looks_like_the_property_is_read():
    version = "s_versions.a__v20260101000000_0123abcd"
    told = (
        f"View Text: select 'kept_versions=' as x from {version}\n"
        "Table Properties: [kept_versions=none, transient_lastDdlTime=1]"
    )
    assert versions_read(told) == [version]
    assert versions_kept(told) == []


@needs_spark
@pytest.mark.nightly
def test_what_is_only_loaded_is_told_as_not_yet_shown(fresh, folder, spark, printed):
    texts = {
        "models/coloured.sql": (
            "{{ config(materialized='view') }}\n"
            "select base.*, colours.name as colour from {{ ref('base') }} as base\n"
            "cross join {{ ref('colours') }} as colours"
        ),
        "models/coloured_now.sql": (
            "{{ config(materialized='view') }}\nselect id from {{ ref('shades') }}"
        ),
        "seeds/shades.csv": "id,name\n1,light\n",
        "seeds/shades.yml": yaml.safe_dump(
            {"seeds": [{"name": "shades", "config": {"reads_latest": True}}]}
        ),
    }
    for path, text in texts.items():
        (folder / path).write_text(text)
    try:
        printed()
        # Nobody reads what is not there yet.
        fresh("seed")
        assert "of before" not in printed()
        fresh("build")
        assert "of before" not in printed()
        # The same rows are no news.
        fresh("seed")
        assert "of before" not in printed()
        (folder / "seeds/colours.csv").write_text("id,name\n1,blue\n")
        fresh("seed")
        told = printed()
        assert "they still show the rows and rights of before: coloured." in told
    finally:
        (folder / "seeds/colours.csv").write_text(FILES["seeds/colours.csv"])
        for path in texts:
            (folder / path).unlink()
        for view in ("coloured", "coloured_now", "shades"):
            spark.sql(f"drop view if exists {SCHEMA}.{view}")


def node_of(kind: str, name: str, *parents: str, **config: object) -> dict:
    """Return a node of the graph, as `end_run` looks at it."""
    return {
        **{"unique_id": name, "name": name, "resource_type": kind, "alias": name},
        **{"database": None, "schema": "s", "depends_on": {"nodes": [*parents]}},
        "config": {"materialized": kind, **config},
    }


@pytest.mark.parametrize(
    ("built", "told"),
    [
        # Both kinds of views read the seed as it is latest; what is stored does not.
        (["latest_seed"], ["over_stored", "over_stored_of_one_state"]),
        (["seed"], ["of_one_state", "plain"]),
        (["latest"], ["of_one_state"]),
        (["stored"], ["over_stored", "over_stored_of_one_state"]),
        (["latest_seed", "stored"], ["over_stored", "over_stored_of_one_state"]),
        (["latest_seed", "over_stored_of_one_state"], ["over_stored"]),
    ],
    ids=str,
)
def test_views_are_told_as_behind_where_they_do_not_read_what_is_latest(built, told):
    of_one_state = {"inline_views": True}
    nodes = [
        node_of("seed", "seed"),
        node_of("seed", "latest_seed", reads_latest=True),
        node_of("model", "latest", materialized="view", reads_latest=True),
        node_of("model", "stored", "latest_seed", materialized="published_view"),
        *(
            node_of(*("model", name, *parents), materialized="view", **config)
            for name, parents, config in (
                ("plain", ["seed", "latest_seed", "latest"], {}),
                ("of_one_state", ["seed", "latest_seed", "latest"], of_one_state),
                ("over_stored", ["stored"], {}),
                ("over_stored_of_one_state", ["stored"], of_one_state),
            )
        ),
    ]
    graph = {"nodes": {node["name"]: node for node in nodes}}
    views = {n["name"] for n in nodes if n["config"]["materialized"] == "view"}
    behind = left_behind.behind(graph, {*built})
    assert sorted(behind & views - {*built}) == told


@pytest.mark.parametrize(
    ("built", "told"),
    [
        (["stored", "below"], ["of_one_state", "over_kept"]),
        # It reads the view below by name, and its own text has not changed.
        (["stored", "below", "plain"], ["of_one_state", "over_kept"]),
        (["stored"], ["below", "of_one_state", "over_kept", "plain"]),
        (["stored", "below", "kept"], ["of_one_state", "over_kept"]),
        (["stored", "below", "of_one_state"], ["over_kept"]),
        # All views read this seed as it is latest, at any depth.
        (["latest_seed"], ["over_kept"]),
    ],
    ids=str,
)
def test_a_view_is_told_as_behind_what_views_between_show_without_a_run(built, told):
    nodes = [
        node_of("seed", "latest_seed", reads_latest=True),
        node_of("model", "stored", materialized="published_view"),
        node_of("model", "below", "stored", "latest_seed", materialized="view"),
        node_of("model", "plain", "below", materialized="view"),
        node_of("model", "latest", "plain", materialized="view", reads_latest=True),
        node_of("model", "kept", "latest", materialized="published_view"),
        node_of("model", "over_kept", "kept", materialized="view"),
        node_of(
            *("model", "of_one_state", "plain"), materialized="view", inline_views=True
        ),
    ]
    graph = {"nodes": {node["name"]: node for node in nodes}}
    views = {n["name"] for n in nodes if n["config"]["materialized"] == "view"}
    moved = {*built} - {"plain"}
    behind = left_behind.behind(graph, {*built}, moved)
    assert sorted(behind & views - {*built}) == told


V2 = "__v20260102000000_0123abcd"


@pytest.mark.parametrize(
    ("rows", "text", "told"),
    [
        # The same rows, written anew, move nothing.
        (1, "select * from s_versions.a{}", []),
        (2, "select * from s_versions.a{}", ["over"]),
        (1, "select * from s_versions.a{} limit 1", ["over"]),
    ],
    ids=["the same rows", "other rows", "another query"],
)
def test_only_views_whose_rows_have_moved_are_told_as_behind(
    rows, text, told, no_dbt, monkeypatch
):
    graph = a_graph(a={}, over={"kind": "view", "reads": ["a"]})
    metastore = RememberedMetastore("s", "s_versions")
    metastore.dbt_run = run = a_run(metastore)
    old, new = f"s_versions.a{VERSION_1}", f"s_versions.a{V2}"
    metastore.contents = {old: 1, new: rows}
    monkeypatch.setattr(run.lock, "check", lambda: None)
    run.published.definitions["s.over"] = "a view"
    run.published.definitions["s.a"] = (
        f"View Text: select * from {old}\nTable Properties: [kept_versions=none]"
    )
    relation = Relation("s", "a")
    switching.begin_switch(metastore, relation, text.format(V2), [old])
    results = [SimpleNamespace(node=SimpleNamespace(unique_id="a"), status="success")]
    found = left_behind.views_left_behind(metastore, graph, results)
    assert found == {"not_run": told, "over_others": []}


@pytest.mark.parametrize("level", ["warn", "error"])
def test_what_stayed_has_a_status_of_its_own(level, no_dbt):
    results = [
        SimpleNamespace(
            node=SimpleNamespace(unique_id=name), status="success", message=""
        )
        for name in ("a", "b")
    ]
    # It was to be narrowed, and the statement failed.
    failed = SimpleNamespace(unique_id="c")
    results += [SimpleNamespace(node=failed, status="error", message="No.")]
    stayed = {"b": "It stays.", "c": "It shows what all may see."}
    left_behind.mark_what_stayed(results, stayed, level)
    assert [(str(r.status), r.message) for r in results] == [
        ("success", ""),
        (level, "It stays."),
        ("error", "No."),
    ]


@pytest.mark.nightly
@needs_spark
def test_stored_models_that_name_raw_tables_themselves_are_shown_to_nobody(
    fresh, load, seen, folder, printed
):
    """A query and a Python model."""
    load(grants=[(8, 1)], things=[(1, "one"), (1, "new")])
    (folder / "models/access.sql").unlink()
    texts = {
        "models/base.sql": f"select thing_id, name from {RAW}.things",
        "models/access.py": "def model(dbt, session):\n"
        '    dbt.config(materialized="published_view", submission_method="session")\n'
        f"    return session.table('{RAW}.grants').select('user_id', 'thing_id')\n",
    }
    for path, text in texts.items():
        (folder / path).write_text(text)
    printed()
    try:
        fresh("run")
    finally:
        (folder / "models/access.py").unlink()
        for path in ("models/access.sql", "models/base.sql"):
            (folder / path).write_text(FILES[path])
    told = printed()
    for name, table in (("base", "things"), ("access", "grants")):
        assert f"'{name}' reads {RAW}.{table} by a text of its own, so that no" in told
    assert "'secure' stays as it was: " in told
    assert seen() == SEEN_AT_FIRST
    fresh("run")
    assert seen() == {("one", 8), ("new", 8)}


@pytest.mark.nightly
@needs_spark
def test_versions_have_folders_of_their_own(fresh, seen, folder, tmp_path):
    roots = f"{{{{ config(location_root='{tmp_path}') }}}}\n"
    (folder / "models/base.sql").write_text(roots + FILES["models/base.sql"])
    try:
        failed = fresh("run", "--select", "base", fails=True)
    finally:
        (folder / "models/base.sql").write_text(FILES["models/base.sql"])
    assert "'base' has a location_root, which gives all its versions" in message(failed)
    assert seen() == SEEN_AT_FIRST


@needs_spark
def test_what_is_deferred_to_another_schema_is_refused(fresh, folder, seen, dbt):
    state = folder / "target_before"
    assert dbt("parse", folder=folder, writes_manifest=True).success
    shutil.copytree(folder / "target", state, dirs_exist_ok=True)
    result = fresh(
        *("run", "--target", "other", "--select", "base", "secure"),
        *("--defer", "--state", str(state)),
        fails=True,
    )
    assert f"'secure' is not created: it would read {SCHEMA}.access, by --defer" in (
        message(result)
    )


# Rows lost or dark


@needs_spark
@pytest.mark.nightly
def test_versions_that_views_of_other_schemas_read_stay_whatever_the_letters(
    fresh, load, seen, printed
):
    fresh("run", "--vars", "{readers: readers}")
    for name in ("two", "three"):
        load(things=[(1, name)])
        # The schema in other letters is the same.
        fresh("run", "--target", "capital", "--select", "stg_things", "base")
        assert seen() == seen(READERS) == SEEN_AT_FIRST
    printed()
    fresh("run", "--target", "capital")
    assert seen() == {("three", 8), ("three", 9)}
    assert seen(READERS) == SEEN_AT_FIRST
    assert f"the rows and rights of their last run: {READERS}.secure." in printed()


@needs_spark
@pytest.mark.nightly
def test_a_run_that_reads_no_rows_has_a_schema_of_its_own(fresh, seen, spark):
    # Another test may have published rows there.
    for schema in (f"{SCHEMA}_other", f"{SCHEMA}_other_versions"):
        spark.sql(f"drop schema if exists {schema} cascade")
    result = fresh("run", "--empty", fails=True)
    told = message(result)
    assert "reads only some rows (--empty) and would publish them" in told
    assert f"over what is read in {SCHEMA}" in told
    assert seen() == SEEN_AT_FIRST
    other = ("--target", "other")
    fresh("run", *other, "--empty")
    assert seen(f"{SCHEMA}_other") == set()
    # No rows are of no state: all rows are not shown under the rights of none.
    fresh("run", *other, "--select", "stg_things", "base", "secure")
    assert seen(f"{SCHEMA}_other") == set()
    fresh("run", *other)
    assert seen(f"{SCHEMA}_other") == SEEN_AT_FIRST
    fresh("run", *other, "--empty", fails=True)


@needs_spark
@pytest.mark.parametrize("kind", nightly_but(["table"], ["table", "view"]))
def test_what_the_project_did_not_make_is_neither_replaced_nor_altered(
    spark, fresh, kind, request
):
    """In the place of a seed, a stored model and a view."""
    theirs = ("colours", "stg_things", "secure")
    using = "using parquet " if kind == "table" else ""
    for name in theirs:
        spark.sql(f"drop view {SCHEMA}.{name}")
        spark.sql(f"create {kind} {SCHEMA}.{name} {using}as select 99 as number")
        # A failure here is none of the next test's.
        request.addfinalizer(
            partial(spark.sql, f"drop {kind} if exists {SCHEMA}.{name}")
        )
    # dbt skips what is anywhere below a failure.
    told = "".join(
        message(fresh("build", "--select", *names, fails=True))
        for names in (theirs[:2], theirs[2:])
    )
    for name in theirs:
        assert f"{SCHEMA}.{name} exists and was not made by this project" in told
        assert spark.table(f"{SCHEMA}.{name}").collect()[0].number == 99


def folders(spark) -> Path:
    """The folder of the versions."""
    described = spark.sql(f"describe schema {VERSIONS}").collect()
    (location,) = (row[1] for row in described if row[0] == "Location")
    return Path(location.removeprefix("file:"))


@pytest.mark.nightly
@needs_spark
def test_a_folder_of_another_metastore_and_one_that_is_not_there_stop_a_run(
    spark, fresh, seen
):
    folder = folders(spark)
    away = folder.with_name("away")
    folder.rename(away)
    told = message(fresh("run", fails=True))
    assert "in which this metastore has published, is empty or not there" in told
    assert f"drop schema {VERSIONS} cascade" in told
    shutil.rmtree(folder, ignore_errors=True)
    away.rename(folder)
    for relation in (f"{SCHEMA}.base", f"{SCHEMA}.secure"):
        spark.catalog.refreshTable(relation)

    claim, foreign = folder / "_claimed_by", folder / f"base{VERSION_1}"
    foreign.mkdir()
    shutil.rmtree(claim)
    claim.mkdir()
    (claim / "part-0.txt").write_text("another metastore\n")
    assert "belongs to another metastore" in message(fresh("run", fails=True))
    assert foreign.exists()
    assert seen() == SEEN_AT_FIRST
    shutil.rmtree(claim)
    fresh("run", "--select", "secure")
    assert claim.exists(), "an unclaimed folder is claimed"
    assert foreign.exists(), "no run that this metastore knows has made it"
    shutil.rmtree(foreign)
    assert seen() == SEEN_AT_FIRST


def test_a_copy_of_a_metastore_does_not_touch_the_folders_of_the_first():
    # A copied folder of the project: the schemas still lie where they lay.
    first, second = RememberedMetastore("s_versions"), RememberedMetastore()
    lines: list[str] = []

    def write(path: str) -> None:
        assert path == "file:/first/_claimed_by"
        lines[:] = [written.removeprefix("select '").removesuffix("' as value")]

    written = ""

    def sql(query: str) -> SimpleNamespace:
        nonlocal written
        written = query
        text = SimpleNamespace(text=write)
        frame = SimpleNamespace(write=SimpleNamespace(mode=lambda _: text))
        return SimpleNamespace(coalesce=lambda _: frame)

    def read(_: str) -> SimpleNamespace:
        return SimpleNamespace(
            collect=lambda: [SimpleNamespace(value=v) for v in lines]
        )

    spark = SimpleNamespace(read=SimpleNamespace(text=read), sql=sql)

    def claim(metastore: RememberedMetastore, url: str | None) -> None:
        place = warehouse.place_of(url, "/anywhere") if url else None
        warehouse._claim(metastore, "s_versions", "file:/first", spark, place)

    derby = "jdbc:derby:;databaseName={}/metastore;create=true"
    # Claimed by an older version of this project, or by dbt over a server.
    claim(first, None)
    for url in (derby.format("/first"), "jdbc:derby:/first/metastore", None):
        claim(first, url)
    second.schemas = copy.deepcopy(first.schemas)
    before = list(lines)
    with pytest.raises(DbtRuntimeError, match="of which this one is a copy"):
        claim(second, derby.format("/second"))
    assert lines == before
    # One that has moved for good.
    lines.clear()
    claim(second, derby.format("/second"))
    with pytest.raises(DbtRuntimeError, match="of which this one is a copy"):
        claim(first, derby.format("/first"))


def test_the_place_of_a_metastore_is_that_of_its_files():
    def place(url: str, home: str = "/home") -> str | None:
        return warehouse.place_of(url, home)

    assert place(warehouse.DEFAULT_URL) == place("jdbc:derby:/home/metastore_db")
    assert place(warehouse.DEFAULT_URL) != place(warehouse.DEFAULT_URL, "/copy")
    assert place("jdbc:derby:;databaseName=/a/b") == place("jdbc:derby:/c/../a/b;x=1")
    assert place("jdbc:derby:/a/b") != place("jdbc:derby:/a/c")
    # A server has many names, and knows by itself where its metastore is.
    for url in (
        "jdbc:postgresql://host:5433/metastore",
        "jdbc:sqlserver://host;databaseName=a",
        "jdbc:derby://host:1527/a",
        "jdbc:derby:memory:a",
    ):
        assert place(url) is None
    assert place("thrift://host:9083") is None


START = """
import sys
from pyspark.sql import SparkSession
from dbt_secure_spark import warehouse
spark = SparkSession.builder.enableHiveSupport().getOrCreate()
spark.sql("show schemas").collect()
print(*warehouse.metastore_of(spark), sep="\\n")
"""


@needs_spark
@pytest.mark.nightly
def test_a_metastore_that_no_profile_names_is_where_hive_makes_it(tmp_path, spark):
    url, _ = warehouse.metastore_of(spark)
    assert url.startswith("jdbc:derby:;databaseName=/")
    told = subprocess.run(
        [sys.executable, "-c", START], cwd=tmp_path, text=True, capture_output=True
    )
    *_, url, home = told.stdout.split()
    assert (tmp_path / "metastore_db").is_dir(), told.stderr
    wanted = warehouse.place_of(f"jdbc:derby:{tmp_path}/metastore_db", "/")
    assert warehouse.place_of(url, home) == wanted


def test_a_folder_of_which_the_metastore_notes_nothing_is_told():
    class Adapter:
        """Stands for an adapter over a warehouse with a space in its path."""

        def execute(self, statement: str, fetch: bool = False):
            if statement.startswith("alter"):
                raise DbtRuntimeError(
                    "Hive metastore does not support altering database location"
                )
            rows = [("Location", "file:/a b/s.db")]
            return None, SimpleNamespace(rows=rows)

    with pytest.raises(DbtRuntimeError, match="nothing with s, whose folder is file:/"):
        warehouse.set_schema_property(Adapter(), "s", "claim", "a")


# The lock


class Metastore:
    """Stands for an adapter: keeps the views of runs by schema and name."""

    def __init__(self) -> None:
        self.views: dict[str, dict[str, dict[str, str]]] = {"s_versions": {}}

    def execute(self, statement: str, fetch: bool = False):
        """Do what a lock asks for, or raise as Spark would."""
        words = statement.replace("'", "").split()
        if words[0] == "show":
            pattern = words[-1].replace("*", "")
            rows = [
                (schema, name, False, ", ".join(f"{k}={v}" for k, v in told.items()))
                for schema, views in self.views.items()
                if schema == words[4]
                for name, told in views.items()
                if name.startswith(pattern)
            ]
            return None, SimpleNamespace(rows=rows)
        if words[0] == "create":
            schema, name = words[2].split(".")
            told = re.search(r"seconds' = '([\d.]+)'", statement)
            seconds = {"seconds": told[1]} if told else {}
            self.views[schema][name] = {"building": "no", "signs": "0", **seconds}
        elif words[0] == "alter":
            schema, name = words[2].split(".")
            if name not in self.views[schema]:
                raise DbtRuntimeError("TABLE_OR_VIEW_NOT_FOUND")
            self.views[schema][name][words[5].strip("(")] = words[7].strip(")")
        elif words[0] == "drop":
            schema, name = words[4].split(".")
            self.views[schema].pop(name, None)
        return None, None

    def connection_named(self, _: str):
        """The thread's own connection."""
        import contextlib

        return contextlib.nullcontext()


@pytest.fixture
def clock(monkeypatch) -> SimpleNamespace:
    """A clock that is set by hand; who sleeps lets it go on."""
    clock = SimpleNamespace(time=0.0, meanwhile=lambda: None)
    own, really_sleep = threading.current_thread(), time.sleep

    def sleep(seconds: float) -> None:
        # Threads that others have left, which sleep again and again, are not asked.
        if threading.current_thread() is not own:
            return really_sleep(seconds)
        clock.time += seconds
        clock.meanwhile()

    monkeypatch.setattr(lock, "now", lambda: clock.time)
    monkeypatch.setattr(lock.time, "sleep", sleep)
    # Signs of life are given by hand, too.
    monkeypatch.setattr(RunLock, "give_signs_of_life", lambda self: None)
    return clock


def a_lock(metastore: Metastore, run: str) -> RunLock:
    return RunLock(metastore, ["s_versions"], run, 20)


def test_a_run_that_gives_signs_of_life_keeps_the_lock(clock):
    metastore = Metastore()
    first = a_lock(metastore, "a")
    first.acquire()
    clock.meanwhile = first.renew
    with pytest.raises(DbtRuntimeError, match="Another dbt run is building"):
        a_lock(metastore, "b").acquire()
    first.check()
    assert list(metastore.views["s_versions"]) == ["live_run_a"]


def test_a_run_whose_clock_stood_still_asks_after_a_sign_that_failed(clock):
    metastore = Metastore()
    paused, other = a_lock(metastore, "a"), a_lock(metastore, "b")
    paused.acquire()
    other.bury(other.acquire())
    other.release()
    # As on a machine that was paused: by its own clock its lease goes on.
    clock.time = 0.0
    paused.check()
    with pytest.raises(DbtRuntimeError):
        paused.renew()
    with pytest.raises(RunLost):
        paused.check()


@pytest.mark.parametrize(("first", "second"), [(20, 1), (1, 20)])
def test_who_watches_waits_as_long_as_the_other_may_be_silent(clock, first, second):
    metastore = Metastore()
    living = RunLock(metastore, ["s_versions"], "a", first)
    living.acquire()
    begun = clock.time
    clock.meanwhile = living.renew
    with pytest.raises(DbtRuntimeError, match="Another dbt run is building"):
        RunLock(metastore, ["s_versions"], "b", second).acquire()
    assert clock.time - begun == 20


def test_a_statement_that_fails_for_want_of_the_lock_tells_of_the_lock(clock, no_dbt):
    metastore = RememberedMetastore("s", "s_versions")
    hooks.begin_run(metastore, "a", 20, ["s"], ["s"], ["s.a"])
    gone = DbtRuntimeError("[TABLE_OR_VIEW_NOT_FOUND] s_versions.a__v1")
    switching.tell_of_lost_lock(metastore, gone)
    clock.time += 100
    successor = a_lock(metastore, "b")
    successor.bury(successor.acquire())
    switching.tell_of_lost_lock(metastore, DbtRuntimeError("[PARSE_SYNTAX_ERROR]"))
    with pytest.raises(RunLost, match="was suspended for longer"):
        switching.tell_of_lost_lock(metastore, gone)


def test_a_run_that_was_suspended_while_it_clears_away_drops_nothing(clock, no_dbt):
    class Suspending(RememberedMetastore):
        """The metastore of a run that is suspended when it asks for the tables."""

        is_armed = False

        def show_tables(self, schema):
            if self.is_armed:
                self.is_armed = False
                clock.time += 100
                successor = a_lock(self, "b")
                successor.bury(successor.acquire())
                self.relations["s_versions", "a__v20260102000000_0123abcd"] = {}
            return super().show_tables(schema)

    metastore = Suspending("s", "s_versions")
    hooks.begin_run(metastore, "a", 20, ["s"], ["s"], ["s.a"])
    metastore.is_armed = True
    with pytest.raises(RunLost):
        hooks.end_run(metastore)
    assert ("s_versions", "a__v20260102000000_0123abcd") in metastore.relations


def test_a_run_that_was_suspended_as_it_begins_notes_nothing_of_before(clock, no_dbt):
    class Suspending(RememberedMetastore):
        """The metastore of a run that is suspended when it has asked for a schema."""

        is_armed = True

        def describe_schema(self, schema):
            told = super().describe_schema(schema)
            if self.is_armed:
                self.is_armed = False
                clock.time += 100
                successor = a_lock(self, "b")
                successor.bury(successor.acquire())
                self.schemas["s_versions"]["read_from"] = "hex_732074"
            return told

    metastore = Suspending("s", "s_versions", "t")
    with pytest.raises(RunLost):
        hooks.begin_run(metastore, "a", 20, ["s"], ["s"], ["s.a"])
    assert metastore.schemas["s_versions"] == {"read_from": "hex_732074"}


def test_a_run_asks_once_for_what_is_noted_with_a_schema(clock, no_dbt):
    asked = []

    class Counting(RememberedMetastore):
        """A metastore that keeps what it is asked."""

        def execute(self, statement, fetch=False):
            asked.append(" ".join(statement.split()[:2]))
            return super().execute(statement, fetch)

    metastore = Counting("s", "s_versions")
    parts = (20, ["s"], ["s"], ["s.a"], "project", "s")
    hooks.begin_run(metastore, "a", *parts)
    hooks.end_run(metastore)
    noted = dict(metastore.schemas["s_versions"])
    assert noted.keys() >= {"project", "target", "read_from", "rows"}
    asked.clear()
    hooks.begin_run(metastore, "b", *parts)
    assert asked.count("describe schema") == 1
    assert "alter schema" not in asked
    # After the lock is released, somebody may have noted something else.
    hooks.end_run(metastore)
    assert asked.count("describe schema") == 2
    assert metastore.schemas["s_versions"] == noted
    assert metastore.described_schemas is None


def test_a_run_that_was_suspended_and_replaced_publishes_nothing(clock):
    metastore = Metastore()
    suspended = a_lock(metastore, "a")
    suspended.acquire()
    second = a_lock(metastore, "b")
    dead = second.acquire()
    assert dead == ["a"]
    second.bury(dead)
    with pytest.raises(RunLost, match="taken for killed by another one"):
        suspended.check()
    second.release()
    with pytest.raises(RunLost):
        suspended.check()


def test_a_run_that_was_suspended_and_not_replaced_goes_on(clock):
    lock = a_lock(Metastore(), "a")
    lock.acquire()
    clock.time += 1000
    lock.check()
    assert lock.leased_until == clock.time + 20


def test_a_run_that_awakes_while_it_is_judged_waits_for_the_judgement(clock):
    metastore = Metastore()
    suspended = a_lock(metastore, "a")
    suspended.acquire()
    other = "live_run_b"
    metastore.execute(f"create view s_versions.{other} ...")
    clock.time += 100

    def drops() -> None:
        metastore.execute("drop view if exists s_versions.live_run_a")

    clock.meanwhile = drops
    with pytest.raises(RunLost):
        suspended.check()

    awake = a_lock(metastore, "c")
    metastore.execute("create view s_versions.live_run_c ...")
    clock.meanwhile = lambda: metastore.execute(
        f"drop view if exists s_versions.{other}"
    )
    awake.check()
    assert awake.leased_until > clock.time


def test_a_run_that_awakes_while_its_successor_builds_is_lost(clock):
    metastore = Metastore()
    suspended = a_lock(metastore, "a")
    suspended.acquire()
    successor = a_lock(metastore, "b")
    # It clears away what the other left, and takes its time for that.
    assert successor.acquire() == ["a"]
    with pytest.raises(RunLost):
        suspended.check()
    assert clock.time < 100


def test_a_metastore_that_can_not_be_written_ends_the_run(clock, monkeypatch):
    metastore = Metastore()
    lock = a_lock(metastore, "a")
    lock.acquire()
    clock.time += 1000

    def fail(*_) -> None:
        raise DbtRuntimeError("read only")

    monkeypatch.setattr(lock, "renew", fail)
    with pytest.raises(DbtRuntimeError, match="read only"):
        lock.check()


def test_a_lock_view_without_properties_is_one_of_a_dead_run(clock):
    assert SignOfLife.parse("Type: VIEW") == SignOfLife(False, None)
    metastore = Metastore()
    metastore.execute("create view s_versions.live_run_a ...")
    metastore.views["s_versions"]["live_run_a"] = {}
    assert a_lock(metastore, "b").acquire() == ["a"]


@pytest.fixture
def no_dbt(monkeypatch):
    """Without a profile and the options of a command."""
    monkeypatch.setattr(hooks, "check_session", lambda _: None)
    monkeypatch.setattr(hooks, "option_to_read_some_rows", lambda: None)
    monkeypatch.setattr(
        hooks, "get_flags", lambda: SimpleNamespace(WHICH="build", DEFER=False)
    )


def hold(
    metastore: RememberedMetastore,
    run: str,
    models: Sequence[str] = ("s",),
    project: str | None = None,
) -> bool:
    parts = (["s"], ["s"], list(models), project)
    return hooks.hold_run(metastore, run, 20, *parts)


def test_what_is_published_outside_of_a_run_holds_the_lock(clock, no_dbt):
    metastore = RememberedMetastore("s", "s_versions")
    run = a_lock(metastore, "b")
    run.acquire()
    clock.meanwhile = run.renew
    assert not hold(metastore, "c")
    hooks.end_run(metastore)
    run.check()
    run.release()
    assert hold(metastore, "c")
    clock.meanwhile = metastore.dbt_run.lock.renew
    with pytest.raises(DbtRuntimeError, match="Another dbt run is building"):
        a_lock(metastore, "a").acquire()
    hooks.end_run(metastore)
    assert not metastore.relations


def test_a_run_that_has_begun_goes_on_if_another_hook_begins_it(clock, no_dbt):
    metastore = RememberedMetastore("s", "s_versions")
    parts = ("a", 20, ["s"], ["s"], ["s.a"])
    hooks.begin_run(metastore, *parts)
    begun = metastore.dbt_run
    hooks.begin_run(metastore, *parts)
    assert metastore.dbt_run is begun
    hooks.end_run(metastore)
    assert not metastore.relations


def test_who_holds_the_lock_alone_publishes_nothing_and_some_rows_are_refused(
    clock, no_dbt, monkeypatch
):
    # dbt builds on where a hook before begin_run() has failed, and a grant takes the
    # lock by itself.
    metastore = RememberedMetastore("s", "s_versions")
    metastore.relations["s", "a"] = {"kept_versions": "none"}
    some_rows = lambda: "--empty"  # noqa: E731
    monkeypatch.setattr(hooks, "option_to_read_some_rows", some_rows)
    parts = ("c", 20, ["s"], ["s"], ["s.a"])
    assert hooks.hold_run(metastore, *parts)
    relation = SimpleNamespace(schema="s", identifier="a")
    with pytest.raises(DbtRuntimeError, match="a hook before it has failed"):
        switching.begin_switch(metastore, relation, "select 1", [])
    with pytest.raises(DbtRuntimeError, match="reads only some rows"):
        hooks.begin_run(metastore, *parts)
    assert metastore.relations == {("s", "a"): {"kept_versions": "none"}}


def test_a_command_that_ends_without_its_hooks_holds_no_lock(clock, no_dbt):
    # A process may live on: a notebook, or a server that calls dbt.
    metastore = RememberedMetastore("s", "s_versions")
    parts = (20, ["s"], ["s"], ["s.a"])
    hooks.begin_run(metastore, "a", *parts)
    interrupted = metastore.dbt_run
    adapter = SecureSparkAdapter.__new__(SecureSparkAdapter)
    adapter.dbt_run, closed = interrupted, []
    adapter.connections = SimpleNamespace(cleanup_all=lambda: closed.append("all"))
    adapter.cleanup_connections()
    assert interrupted.lock.ended.is_set(), "it gives no further signs"
    assert closed == ["all"]
    with pytest.raises(DbtRuntimeError, match="Nothing can be published before"):
        switching.begin_switch(adapter, None, "select 1", [])
    adapter.cleanup_connections()
    # The next run takes it for dead, in this process or another.
    metastore.dbt_run = None
    hooks.begin_run(metastore, "b", *parts)
    hooks.end_run(metastore)
    assert not metastore.relations


def test_a_run_begins_with_a_number_of_seconds_that_can_be_one():
    metastore = RememberedMetastore("s", "s_versions")
    with pytest.raises(CompilationError, match="run_lock_seconds is 'ten'; it must"):
        hooks.begin_run(metastore, "a", "ten", ["s"], ["s"], ["s.a"])
    assert not metastore.relations


def test_a_run_that_lost_its_lock_publishes_nothing_at_its_end(clock, no_dbt):
    metastore = RememberedMetastore("s", "s_versions")
    hooks.begin_run(metastore, "a", 20, ["s"], ["s"], ["s"])
    successor = a_lock(metastore, "b")
    successor.bury(successor.acquire())
    with pytest.raises(RunLost):
        hold(metastore, "a")


# What versions and views come from, by dbt's graph


def a_graph(**nodes: dict) -> dict:
    """Return dbt's graph of nodes: what they are, what they read, how they are kept."""
    made = {
        name: {
            "unique_id": name,
            "name": name,
            "resource_type": "model",
            "schema": "s",
            "alias": name,
            "relation_name": f"s.{name}",
            "config": {"materialized": node.get("kind", "published_view")},
            "depends_on": {"nodes": node.get("reads", [])},
            "compiled_code": f'refs = {{"a": "other.{name}"}}',
            "defer_relation": {"relation_name": f"{node.get('of', 'other')}.{name}"},
        }
        for name, node in nodes.items()
    }
    source = {
        "unique_id": "raw",
        "resource_type": "source",
        "source_name": "r",
        "name": "raw",
        "relation_name": "r.raw",
    }
    return {"nodes": made, "sources": {"raw": source}}


def a_run(metastore: RememberedMetastore) -> Run:
    return Run(metastore, "a", 20, ["s"], ["s"], ["s.a"])


@pytest.fixture
def deferring(monkeypatch):
    """A command with --defer and --favor-state."""
    flags = SimpleNamespace(DEFER=True, FAVOR_STATE=True, WHICH="run")
    for module in (hooks, run_module):
        monkeypatch.setattr(module, "get_flags", lambda: flags)
    return flags


@pytest.mark.parametrize("kind", ["published_view", "view", "ephemeral", "table"])
def test_what_dbt_defers_is_of_no_known_state_whatever_it_is(no_dbt, deferring, kind):
    graph = a_graph(a={"kind": kind}, b={"reads": ["a"]})
    run = a_run(RememberedMetastore("s", "s_versions"))
    assert list(run.parents(graph, graph["nodes"]["b"])) == ["other.a"]
    # What is there is read, unless the state is favoured.
    deferring.FAVOR_STATE = False
    assert list(run.parents(graph, graph["nodes"]["b"])) == ["other.a"]
    run.published.definitions["s.a"] = "select * from s_versions.a__v" + "1" * 14
    assert "other.a" not in run.parents(graph, graph["nodes"]["b"])


def test_what_is_deferred_to_the_same_schema_is_not_deferred(no_dbt, deferring):
    graph = a_graph(a={"of": "S"}, b={"reads": ["a"]})
    run = a_run(RememberedMetastore("s", "s_versions"))
    assert list(run.parents(graph, graph["nodes"]["b"])) == ["s.a"]


@pytest.mark.parametrize("kind", ["table", "incremental", "snapshot"])
def test_what_changes_under_its_readers_is_of_no_known_state(no_dbt, kind):
    graph = a_graph(
        g={"reads": ["raw"]},
        a={"kind": kind, "reads": ["g", "raw"]},
        b={"reads": ["a"]},
    )
    run = a_run(RememberedMetastore("s", "s_versions"))
    assert list(run.parents(graph, graph["nodes"]["b"])) == ["s.a"]
    assert list(lineage.sources_of(graph, graph["nodes"]["b"])) == []
    # Also where all that a view shows comes from it, at two moments perhaps.
    reads = run.reads_of(graph, graph["nodes"]["b"], [])
    assert "no run has noted what it holds" in run.why_no_one_state(graph, reads)


def test_a_version_that_says_nothing_is_one_state_by_itself(no_dbt):
    run = a_run(RememberedMetastore("s", "s_versions"))
    reads = run.published.reads_of([V1])
    assert run.why_no_one_state(a_graph(), reads) is None
    assert run.why_no_one_state(a_graph(), reads | {RawRead("s.a", "s.a")})


def test_a_view_that_was_edited_and_not_run_is_of_no_known_state(no_dbt):
    graph = a_graph(
        a={},
        b={},
        e={"kind": "ephemeral", "reads": ["a"]},
        v2={"kind": "view", "reads": ["a"]},
        v1={"kind": "view", "reads": ["b", "e"]},
        p={"reads": ["v1"]},
    )
    run = a_run(RememberedMetastore("s", "s_versions"))
    told = run.published.definitions
    of_a = V1.replace(".b_", ".a_")
    both = f"{V1}, {of_a}"
    told |= {"s.a": of_a, "s.b": V1}
    run.adapter.relations["s", "v1"] = {}
    for text, is_known in {
        f"select * from {both}": True,
        "select * from s.b, s.a": True,
        f"select 's.v2' from {both} -- s.v2": True,
        f"select * from {both} join s.v2": False,
        f"select * from {both} join `s`.`v2`": False,
        f"select * from {both} join r.raw": False,
        f"select * from {both} join s.removed": False,
        f"select s.f(1) from {both}": False,
        f"select 1 from {both} where where": False,
    }.items():
        run.adapter.texts["s", "v1"] = text
        told["s.v1"] = f"Comment: it's what s.v2 was\nView Text: {text}"
        parents = set(run.parents(graph, graph["nodes"]["p"]))
        assert ("s.v1" in parents) != is_known, text
        assert V1 in parents


V1 = "s_versions.b__v20260101000000_0123abcd"


def recorded(graph: dict, name: str, sql: str) -> str | None:
    """Store a model; return why nothing is switched to it, read beside a version."""
    metastore = RememberedMetastore("s", "s_versions")
    metastore.functions["`s`.`f`"] = "Data Access:   READS SQL DATA"
    metastore.dbt_run = run = a_run(metastore)
    of_a = V1.replace(".b_", ".a_")
    run.published.definitions |= {"s.a": of_a, "s.b": V1}
    run.published.reads |= {of_a: frozenset(), V1: frozenset()}
    version = V1.replace("b__v", f"{name}__v")
    metastore.relations[tuple(version.split("."))] = {}
    node = graph["nodes"][name]
    switching.record_version(metastore, graph, node, version, [], sql)
    reads = run.published.reads_of([version])
    noted = metastore.relations[tuple(version.split("."))]["raw_reads"]
    assert raw_reads(f"raw_reads={noted}]") == reads
    return run.why_no_one_state(graph, reads)


OF_ITS_OWN = {
    "select * from s.a join s.b using (id)": None,
    "select 's.raw', `r.raw` from s.a -- r.raw": None,
    "with raw as (select * from s.b) select upper(x) from raw": None,
    f"select * from {V1}": None,
    "select * from s.a where x in (select x from r.raw)": "r.raw",
    "select * from `r`.`raw`": "r.raw",
    "select * from r.`b:1 2`": "r.b_1_2",
    "select * from s.c": "s.c",
    "select * from s.removed, s.a": "s.removed",
    "select * from json.`/x`": "json./x",
    "select s.f(1) from s.a": "`s`.`f`",
    "select 1 from s.a where where": "s.c",
    "with recursive t as (select 1 n union all select n + 1 from t) select n from t": (
        None
    ),
    # Its own rows are of before.
    "select * from s.c join s.a using (id)": "s.c",
}


@pytest.mark.parametrize("sql", OF_ITS_OWN)
def test_what_a_stored_model_names_without_dbt_is_of_no_known_state(no_dbt, sql):
    graph = a_graph(a={}, b={}, e={"kind": "ephemeral", "reads": ["a"]}, c={})
    graph["nodes"]["c"]["depends_on"]["nodes"] = ["e", "b"]
    expected = OF_ITS_OWN[sql]
    why_not = recorded(graph, "c", sql)
    if expected is None:
        assert why_not is None
    else:
        assert why_not == f"{expected} may change, and no run has noted what it holds"


PYTHON_OF_ITS_OWN = {
    "dbt.ref('a').where('x > 1').where(F.col('x') > 1).filter(x)": None,
    "session.createDataFrame([]).join(dbt.ref('b'), 'x').select(F.expr('x + 1'))": None,
    "session.sql('select 1')": None,
    "table.join(dbt.ref('a')).selectExpr('x', 'upper(y)')": None,
    "session.table('r.raw')": "r.raw",
    "session.sql('select * from s.a')": "s.a",
    "dbt.ref('a').where('x in (select x from r.raw)')": "r.raw",
    "dbt.ref('a').select(F.expr('s.f(x)'))": "`s`.`f`",
    "dbt.ref('a').selectExpr('x', 's.f(x)')": "`s`.`f`",
    "dbt.ref('a').select(F.call_function('s.f', x))": "`s`.`f`",
    "session.sql(text)": "s.c",
    "session.sql('select * from {t}', t=t)": "s.c",
    "[dbt.ref('a').createOrReplaceTempView('A_b'), session.sql('table a_B')]": "a_b",
    "x\ndbt.ref('a').createTempView('A_b')\nreturn session.sql('table a_B')": None,
    "x\nx = dbt.ref('a')\nx.createTempView('a')\nreturn session.table('a')": None,
    "session.table('a')\ndbt.ref('a').createTempView('a')": "a",
    "own(f())\ndbt.ref('a').createTempView('a')\ndef f(): session.table('a')": "a",
    "table(sql(read(dbt.ref('a'))))": None,
    "own(dbt.ref('a'), session, of=session)": None,
    "dbt.ref('a').where(condition='x in (select x from r.raw)')": "r.raw",
    "dbt.ref('a').where('x in (select x from {})'.format(t))": "s.c",
    "dbt.ref('a').where('x in (select x ' + t)": "s.c",
    "other.load(session)": "s.c",
    "getattr(session, 'table')('r.raw')": "s.c",
    "ps.read_table('r.raw')": "s.c",
    "session.sparkContext.textFile('/x')": "s.c",
    "e('(select max(x) from r.raw)')\nfrom f import expr as e": "s.c",
    "dbt.ref('a').where(f'x > {x}')": "s.c",
    "session.read.parquet('/x')": "s.c",
    "[read := session.table, read('r.raw')]": "s.c",
    "dbt.ref('a')._jdf.sparkSession().table('r.raw')": "s.c",
    "dbt.ref('a').rdd.context.textFile('/x')": "s.c",
    "duckdb.query('from x')\nimport duckdb": "s.c",
    "requests.get('http://x')\nimport requests": "s.c",
    "rows()\nfrom our_helpers import rows": "s.c",
    "rows()\nfrom . import rows": "s.c",
    "read_gml('/x')\nfrom networkx import read_gml": "s.c",
    "np.load('/x')\nimport numpy as np": "s.c",
    "pd.io.parquet.get_engine('auto')\nimport pandas as pd": "s.c",
    "nx.DiGraph(json.loads(x))\nimport json, networkx as nx": None,
}


@pytest.mark.parametrize("code", PYTHON_OF_ITS_OWN)
def test_what_a_python_model_reads_by_itself_is_of_no_known_state(no_dbt, code):
    graph, expected = (
        a_graph(a={}, b={}, c={"reads": ["a", "b"]}),
        PYTHON_OF_ITS_OWN[code],
    )
    code = code.replace("\n", "\n    ")
    raw_code = (
        f"def own(a, s, of):\n    pass\n\ndef model(dbt, session):\n    return {code}\n"
    )
    graph["nodes"]["c"] |= {"language": "python", "raw_code": raw_code}
    why_not = recorded(graph, "c", raw_code)
    if expected is None:
        assert why_not is None
    else:
        assert why_not == f"{expected} may change, and no run has noted what it holds"


def test_a_version_that_a_stored_model_names_by_hand_is_counted(no_dbt):
    graph = a_graph(a={}, b={}, c={"reads": []})
    sql = f"select * from {V1}"
    metastore = RememberedMetastore("s", "s_versions")
    metastore.dbt_run = run = a_run(metastore)
    run.published.reads[V1] = frozenset({RawRead("r.raw", "of_before")})
    version = V1.replace("b__v", "c__v")
    metastore.relations[tuple(version.split("."))] = {}
    switching.record_version(metastore, graph, graph["nodes"]["c"], version, [], sql)
    assert run.published.reads[version] == {RawRead("r.raw", "of_before")}


def test_a_source_that_is_what_this_project_has_published_is_that_version(no_dbt):
    graph = a_graph(b={}, c={"reads": ["raw"]})
    graph["sources"]["raw"]["relation_name"] = "S.`b`"
    run = a_run(RememberedMetastore("s", "s_versions"))
    run.published.definitions["s.b"] = f"View Text: select * from {V1}"
    assert list(run.parents(graph, graph["nodes"]["c"])) == [V1]


def test_values_that_dbt_asked_for_while_it_rendered_a_view_are_of_no_known_state(
    no_dbt,
):
    graph = a_graph(
        a={},
        b={},
        e={"kind": "ephemeral", "reads": ["a"]},
        v={"kind": "view", "reads": ["b", "raw"]},
        c={"kind": "view", "reads": ["e", "b"]},
        p={"reads": ["v"]},
    )
    metastore = RememberedMetastore("s", "s_versions")
    metastore.dbt_run = run = a_run(metastore)
    of_a = V1.replace(".b_", ".a_")
    run.published.definitions |= {"s.a": of_a, "s.b": V1}
    run.published.reads |= {of_a: frozenset(), V1: frozenset()}
    metastore.relations["s", "v"] = {}
    for text, is_known in {
        "select * from s.b, r.raw": True,
        f"select * from {V1}, `r`.`raw`": False,
        f"select * from {V1}, r.raw": True,
        "select * from s.b": False,
        "select 1 from r.raw -- s.b": False,
    }.items():
        metastore.texts["s", "v"] = text
        run.published.definitions["s.v"] = f"View Text: {text}"
        assert ("s.v" in set(run.parents(graph, graph["nodes"]["p"]))) != is_known, text
    # A view of one state likewise, and what an ephemeral one has asked.
    node = graph["nodes"]["c"]
    node["config"]["inline_views"] = True
    told = one_state.pin_versions(metastore, graph, node, "select * from s.a, s.b")
    assert told["why_not"] is None
    told = one_state.pin_versions(metastore, graph, node, "select 8 as id from s.b")
    assert told["why_not"].startswith("its query does not name s.a, which its model")
    # A secure dataset depends on what the rules of others look up, and names none.
    note_rules(metastore, ["s.a"])
    told = one_state.pin_versions(metastore, graph, node, "select 8 as id from s.b")
    assert told["why_not"].startswith("its query does not name s.a, which its model")
    node["config"]["narrowing"] = {"unique_key": ["id"], "rows_from": ["b"]}
    told = one_state.pin_versions(metastore, graph, node, "select 8 as id from s.b")
    assert told["why_not"] is None
    told = one_state.pin_versions(metastore, graph, node, "select 8 as id from s.a")
    assert told["why_not"].startswith("its query does not name s.b, which its model")


def test_a_view_of_one_state_pins_what_others_read_as_it_is_latest(no_dbt):
    graph = a_graph(
        b={}, k={}, c={"kind": "view", "reads": ["b", "k"]}, d={"kind": "view"}
    )
    metastore = RememberedMetastore("s", "s_versions")
    metastore.dbt_run = run = a_run(metastore)
    of_k = V1.replace(".b_", ".k_")
    run.published.definitions |= {"s.b": V1, "s.k": of_k}
    graph["nodes"]["b"]["config"]["reads_latest"] = True
    graph["nodes"]["k"] |= {"resource_type": "seed"}
    graph["nodes"]["k"]["config"] |= {"reads_latest": True, "materialized": "seed"}
    graph["nodes"]["c"]["config"]["inline_views"] = True
    sql = "select * from s.b, s.k"
    pinned = [
        one_state.pin_versions(metastore, graph, graph["nodes"][name], sql)["sql"]
        for name in "cd"
    ]
    assert pinned == [f"select * from {V1}, s.k", sql]


def test_of_two_nodes_that_ask_for_the_lock_at_once_one_begins(monkeypatch):
    begun = []

    def make_run(adapter, name):
        time.sleep(0.05)
        lock = SimpleNamespace(check=lambda: None)
        begin = lambda *_, **__: begun.append(name)  # noqa: E731
        adapter.dbt_run = SimpleNamespace(begin=begin, lock=lock)

    monkeypatch.setattr(hooks, "make_run", make_run)
    adapter = SimpleNamespace()
    with ThreadPoolExecutor(4) as threads:
        held = threads.map(lambda _: hooks.hold_run(adapter, "a"), range(4))
        assert list(held) == [True] * 4
    assert begun == ["a"]


def test_a_view_is_judged_once_until_it_is_told_otherwise(no_dbt):
    graph = a_graph(a={}, v={"kind": "view", "reads": ["a"]}, p={"reads": ["v"]})
    run = a_run(RememberedMetastore("s", "s_versions"))
    run.published.definitions |= {"s.v": "View Text: select * from s.a", "s.a": V1}
    run.adapter.relations["s", "v"] = {}
    run.adapter.texts["s", "v"] = "select * from s.a"
    node = graph["nodes"]["p"]
    assert "s.v" not in set(run.parents(graph, node))
    run.adapter.texts["s", "v"] = "select * from r.raw"
    assert "s.v" not in set(run.parents(graph, node))
    run.published.definitions["s.v"] = "View Text: select * from r.raw"
    assert "s.v" in set(run.parents(graph, node))


def test_a_source_that_is_written_with_backticks_is_known(no_dbt):
    graph = a_graph(v={"kind": "view", "reads": ["raw"]}, p={"reads": ["v"]})
    graph["sources"]["raw"]["relation_name"] = "`r`.`raw`"
    run = a_run(RememberedMetastore("s", "s_versions"))
    run.published.definitions["s.v"] = "View Text: select * from `r`.`raw`"
    run.adapter.relations["s", "v"] = {}
    run.adapter.texts["s", "v"] = "select * from `r`.`raw`"
    assert list(run.parents(graph, graph["nodes"]["p"])) == []


def test_a_relation_that_was_a_view_has_no_version_yet(no_dbt):
    published = Published({"s.m": f"select * from {V1} where is_public", "s.b": V1})
    assert published.version_of("s.m") is None
    assert published.version_of("s.b") == V1
    graph = a_graph(m={}, c={"kind": "view"})
    metastore = RememberedMetastore("s", "s_versions")
    metastore.dbt_run = a_run(metastore)
    metastore.dbt_run.published = published
    with pytest.raises(CompilationError, match="No published version of 'm'"):
        one_state.pin_versions(metastore, graph, graph["nodes"]["c"], "table s.m")


READS_WHAT_CHANGES = {
    "s.a": "s.a",
    "r.raw": "r.raw",
    "elsewhere.view": "elsewhere.view",
    "unqualified": "unqualified",
    "(with jobs as (select * from jobs) select * from jobs) as j": "jobs",
    "(with t as (select 1 as a) select * from t) as x cross join t": "t",
    "(with `r.raw` as (select 1 as a) select * from r.raw) as x": "r.raw",
    "identifier('r.raw')": "IDENTIFIER",
    "s.vw_of(3)": "s",
    "json.`/x/a__v20260101000000_0123abcd`": "json",
    "raw.b__v20260101000000_0123abcd": "raw.b__v",
}


@pytest.mark.parametrize("read", READS_WHAT_CHANGES)
def test_a_view_of_one_state_reads_nothing_that_changes(read):
    graph = a_graph(a={"kind": "table"}, b={}, c={"kind": "view"}, d={})
    graph["nodes"]["d"] |= {"resource_type": "seed"}
    graph["nodes"]["d"]["config"]["reads_latest"] = True
    fine = (
        f"with e as (select * from {V1}, s.d), f as (select * from e)"
        " select /*+ broadcast(g) */ * from f as g lateral view explode(array(1)) h"
        " where exists (with e as (select 1 as a) select 1 from e where e.a = g.a)"
        f" -- {read}"
    )
    refuse(graph, fine)
    named = re.escape(READS_WHAT_CHANGES[read])
    with pytest.raises(CompilationError, match=f"'c' reads {named}.*, which is no ve"):
        refuse(graph, f"select `'`, 1 from {V1}, {read} where 'x'")


def refuse(graph: dict, sql: str, **functions: str) -> None:
    metastore = RememberedMetastore("s")
    metastore.functions |= functions
    one_state.refuse_what_changes(metastore, graph, graph["nodes"]["c"], sql)


@pytest.mark.parametrize(
    "called",
    [
        "select 1 from {v} as a cross join lateral {f}(a.b) as t",
        "select 1 from {v} as a, lateral {f}(a.b) as t",
        "select {f}(b) from {v}",
        "select upper({f} (b)) from {v}",
        "select 1 from {v} where b in (select {f}(1) over ())",
    ],
)
@pytest.mark.parametrize(
    "name",
    ["s.f", "f", "s.range", "`s`.`explode`", "a.s.f", "s.`1f`", "`my f`"],
)
def test_a_function_that_reads_tables_is_no_version(called, name):
    graph = a_graph(c={"kind": "view"})
    sql = called.format(v=V1, f=name)
    quoted = ".".join(f"`{part.strip('`')}`" for part in name.split("."))
    with pytest.raises(CompilationError, match=r"'c' calls .*, which may read tables"):
        refuse(graph, sql, **{quoted: "Data Access:   READS SQL DATA"})
    # No word of SQL, and nothing that can be asked about.
    with pytest.raises(CompilationError, match=r"which may read tables"):
        refuse(graph, sql)
    refuse(graph, sql, **{quoted: "Data Access:   CONTAINS SQL"})
    refuse(graph, sql, **{quoted: "Class: com.acme.OfTheJvm"})


def test_a_function_may_be_called_as_a_word_of_sql_is():
    graph = a_graph(c={"kind": "view"})
    refuse(graph, f"select full(b) from {V1}")
    with pytest.raises(CompilationError, match="`full`, which may read tables"):
        refuse(graph, f"select full(b) from {V1}", **{"`full`": "READS SQL DATA"})


@pytest.mark.parametrize(
    "sql",
    [
        "select (from",
        "select 1 from {v} /* was /*+ broadcast(x) */\ncross join r.raw\n-- */",
        "select identifier('s.f')(b) from {v}",
        "select 1 from {v} -- D:\\\n/*\ncross join s.raw\n-- */",
        "from {v} |> cross join __tmp1",
        "select '${{x}}' from {v}",
    ],
)
def test_a_query_that_can_not_be_read_is_refused(sql):
    graph = a_graph(c={"kind": "view"})
    with pytest.raises(CompilationError, match="What 'c' reads can't be found out"):
        refuse(graph, sql.format(v=V1))


@pytest.mark.parametrize(
    "fine",
    [
        "with `Größen Filter` as (select 1 as a) select * from `Größen Filter`",
        "select 1 where b like '/*%' or b like '%/*' -- see /etc/* and /var/*",
        "select 1 /* was /* once */ */ as a",
        "select 1 as a group by (a) having (count(*) filter (where (a > 1))) in (1)",
        "select t.x from (values (1, 2)) as t(x, y) where (x div (2)) rlike ('a')",
        "select 1 as a from (select 1) lateral view json_tuple('', 'a') as b",
    ],
)
def test_what_spark_reads_as_it_is_read_here_is_not_refused(fine):
    refuse(a_graph(c={"kind": "view"}), fine)


def test_a_raw_table_counts_through_what_stores_nothing():
    graph = a_graph(
        a={"kind": "view", "reads": ["raw"]},
        b={"kind": "ephemeral", "reads": ["a"]},
        c={"reads": ["raw"]},
        d={"reads": ["b"]},
        e={"reads": ["c"]},
    )
    found = {
        name: list(lineage.sources_of(graph, node))
        for name, node in graph["nodes"].items()
    }
    assert found == {"a": ["raw"], "b": ["raw"], "c": ["raw"], "d": ["raw"], "e": []}


def inlined(metastore: RememberedMetastore, graph: dict, sql: str) -> str:
    node = {"name": "secure"}
    metastore.dbt_run = a_run(metastore)
    return one_state.with_inlined_views(metastore, graph, node, sql)


def test_views_are_inlined_at_any_distance_and_in_any_order():
    metastore = RememberedMetastore("s")
    for name, text in {"m1": "s.base", "m2": "s.m1", "m3": "s.m2"}.items():
        metastore.relations["s", name] = {}
        metastore.texts["s", name] = f"select * from {text}"
    kinds = {name: {"kind": "view"} for name in ("m1", "m2", "m3")}
    for order in (("m1", "m2", "m3"), ("m3", "m2", "m1"), ("m2", "m3", "m1")):
        graph = a_graph(**{name: kinds[name] for name in order})
        sql = inlined(metastore, graph, "select * from s.m3")
        assert "s.m" not in sql
        assert "s.base" in sql
    # A column that is called as a view is no view, and no reason to go on for ever.
    metastore.texts["s", "m1"] = "select s.m1 from s.base as s"
    assert inlined(metastore, graph, "select * from s.m1") == (
        "select * from (\nselect s.m1 from s.base as s\n) as m1"
    )
    twice = f"select 1 as a from s.base -- {'x' * 600_000}"
    metastore.texts["s", "m1"] = twice
    with pytest.raises(CompilationError, match="query becomes too long"):
        inlined(metastore, graph, "select 1 from s.m1 cross join s.m1 as again")


QUERY = "(\nselect 1 as a\n)"
INLINED = {
    "select m.a from s.m": f"select m.a from {QUERY} as m",
    "select s.m.a, m.a from S.M": f"select m.a, m.a from {QUERY} as M",
    "select b.a from `s`.`m` b, s.m": f"select b.a from {QUERY} b, {QUERY} as m",
    "select 's.m' as x, s.m from s.m as s": f"select 's.m' as x, s.m from {QUERY} as s",
    "select 1 from s.m join s.m as n using (a) /* s.m */": (
        f"select 1 from {QUERY} as m join {QUERY} as n using (a) /* s.m */"
    ),
    "with m as (select 1 from s.m) select 1 from m, s.m": (
        f"with m as (select 1 from {QUERY} as m) select 1 from m, {QUERY} as m"
    ),
    "select 1 from s.m tablesample (3 rows)": (
        f"select 1 from {QUERY} tablesample (3 rows)"
    ),
    "select r.s.m, 1 from r": "select r.s.m, 1 from r",
    # A part of a column, of an alias that is called as the schema is.
    "select s.m.a from t as s, s.m as n": f"select s.m.a from t as s, {QUERY} as n",
}


@pytest.mark.parametrize("sql", INLINED)
def test_a_view_is_inlined_where_a_query_reads_it_and_nowhere_else(sql):
    metastore = RememberedMetastore("s")
    metastore.relations["s", "m"] = {}
    metastore.texts["s", "m"] = "select 1 as a"
    assert inlined(metastore, a_graph(m={"kind": "view"}), sql) == INLINED[sql]


def test_a_view_that_names_no_schema_is_not_inlined():
    metastore = RememberedMetastore("s")
    metastore.relations["s", "m"] = {}
    metastore.texts["s", "m"] = "select * from jobs"
    graph = a_graph(m={"kind": "view"})
    with pytest.raises(CompilationError, match=r"s\.m, which names jobs without"):
        inlined(metastore, graph, "with jobs as (select 1) select * from s.m")


def test_each_statement_of_a_switch_asks_for_the_lock():
    done = []
    macro = Path(PACKAGE_PATH) / "macros/switch_view.sql"
    asks = lambda *_: done.append("asked") or "none"  # noqa: E731
    config = {"persist_column_docs": lambda: False}
    macros = Environment(extensions=["jinja2.ext.do"]).from_string(
        macro.read_text(),
        {
            "graph": {},
            "adapter": SimpleNamespace(
                begin_switch=asks,
                check_lock=asks,
                in_its_catalog=lambda _, sql: sql,
                properties_to_set=partial(switching.properties_to_set, None),
            ),
            "config": SimpleNamespace(**config),
            "relation_comment": lambda: None,
            "run_query": done.append,
        },
    )
    switch = ["asked", "alter view s.a as\nselect 1"]
    of_now = "Table Properties: [kept_versions=none]"
    for told, sets in (("Table Properties: []", True), (of_now, False)):
        done.clear()
        done.append(macros.module.switch_view("s.a", told, "select 1", []).strip())
        kept = "alter view s.a set tblproperties ('kept_versions' = 'none')"
        assert done == ["asked", *([kept] if sets else []), *switch]


@pytest.mark.parametrize(
    ("told", "comment", "properties"),
    [
        ("Comment: It's one.\nTable Properties: [a=b, kept_versions=hex_41]", 1, []),
        # A text of the view looks like a property, or like a description.
        (
            "Type: VIEW"
            "\nView Text: select '\nComment: It's one.\n',"
            " 'kept_versions=hex_41]'"
            "\nView Original Text: select '\nComment: It's one.\n',"
            " 'kept_versions=hex_41]'\nTable Properties: [kept_versions=none]",
            1,
            ["'kept_versions' = 'hex_41'", "'comment' = 'It\\'s one.'"],
        ),
        (
            "Comment: Two.\nTable Properties: [kept_versions=hex_41]",
            0,
            ["'comment' = ''"],
        ),
        ("Table Properties: [kept_versions=hex_41]", 0, []),
        (
            "Table Properties: [kept_versions=hex_4142]",
            0,
            ["'kept_versions' = 'hex_41'"],
        ),
    ],
)
def test_a_switch_sets_the_properties_that_differ_alone(told, comment, properties):
    text = sql_text("It's one.") if comment else None
    assert switching.properties_to_set(None, told, "hex_41", text) == properties


def test_a_run_that_loses_its_lock_while_it_sets_what_views_keep_switches_none(no_dbt):
    asked = []
    metastore = RememberedMetastore("s", "s_versions")
    metastore.set_to = lambda name, _: asked.append(name)
    metastore.dbt_run = run = a_run(metastore)
    run.lock.check = lambda: asked.append("lock")
    relation = SimpleNamespace(schema="s", identifier="a")
    switching.begin_switch(metastore, relation, "select 1", [])
    assert asked == [*OF_VIEWS, "lock"]


@pytest.mark.parametrize("goes_on", [True, False])
def test_each_grant_asks_for_the_lock(goes_on):
    done = []
    macro = Path(PACKAGE_PATH) / "macros/secure_spark__call_dcl_statements.sql"
    macros = Environment(extensions=["jinja2.ext.do"]).from_string(
        macro.read_text(),
        {
            "hold_run": lambda: done.append("asked") or goes_on,
            "statement": lambda _, caller: done.append(caller().strip()) or "",
            "exceptions": SimpleNamespace(raise_compiler_error=pytest.fail),
        },
    )
    call = macros.module.secure_spark__call_dcl_statements
    if goes_on:
        call(["revoke a", "grant b"])
        assert done == ["asked", "revoke a", "asked", "grant b"]
    else:
        with pytest.raises(pytest.fail.Exception, match="Another run is building"):
            call(["revoke a"])
        assert done == ["asked"]


def test_a_view_that_no_model_is_called_like_is_named(no_dbt):
    metastore = RememberedMetastore("s", "s_versions", "before")
    set_property = (
        f"alter schema s_versions set dbproperties ('{{}}' = '{encoded('s before')}')"
    )
    metastore.execute(set_property.format("read_from"))
    for place in (("s", "a"), ("s", "renamed"), ("before", "a")):
        metastore.relations[place] = {"kept_versions": "none"}
    metastore.relations["before", "somebody_else_s"] = {}
    graph = a_graph(a={"kind": "view"})
    # Another target may share a store with this one: its views are its own.
    assert hooks.views_without_model(metastore, graph) == ["s.renamed"]
    metastore.dbt_run = run = a_run(metastore)
    run.load_definitions()
    metastore.sent.clear()
    assert hooks.views_without_model(metastore, graph) == ["s.renamed"]
    # The run has read them when it began.
    assert not metastore.sent


def test_a_view_that_was_left_in_an_older_schema_is_named(no_dbt):
    metastore = RememberedMetastore("s", "s_versions", "raw", "raw_versions", "before")
    of_run = "20260101000000_0123abcd"
    for schema in ("s_versions", "raw_versions"):
        metastore.alter_schema(schema, "read_from", encoded("before raw s"))
    for name, read in {
        "secure": f"s_versions.a__v{of_run}",
        "of_seeds": f"raw_versions.b__v{of_run}",
    }.items():
        metastore.relations["before", name] = {"kept_versions": "none"}
        metastore.texts["before", name] = f"select * from {read}"
    graph = a_graph(a={"kind": "published_view"})
    graph["nodes"]["seed.b"] = {
        "resource_type": "seed",
        "schema": "raw",
        "alias": "b",
        "relation_name": "raw.b",
        "config": {"materialized": "seed"},
    }
    # The rows of models are one target's. Seeds may be another target's, too.
    assert hooks.views_without_model(metastore, graph) == ["before.secure"]


FIRST, SECOND = (f"2026010{day}000000_0123abcd" for day in (1, 2))


def after_a_run_of_a_part() -> tuple[RememberedMetastore, dict]:
    """Rights, a mapping that no raw table is read for, and two views of them."""
    metastore = RememberedMetastore("s", "s_versions")
    for run, content in ((FIRST, 1), (SECOND, 2)):
        reads = encoded(str(RawRead("r.raw", run, content, content)))
        metastore.relations["s_versions", f"rights__v{run}"] = {"raw_reads": reads}
        for name in ("seed", "mapping"):
            version = ("s_versions", f"{name}__v{run}")
            metastore.relations[version] = {"raw_reads": "none"}
    graph = a_graph(
        rights={"reads": ["raw"]},
        seed={"kind": "seed"},
        mapping={"reads": ["seed"]},
        paths={"kind": "view", "reads": ["rights"]},
        secure={"kind": "view", "reads": ["rights", "mapping"]},
    )
    graph["nodes"]["seed"]["resource_type"] = "seed"
    return metastore, graph


@pytest.mark.parametrize(
    ("newer", "wanted"),
    [
        ([], {}),
        # The access views were run, and the view with their paths was not.
        (["rights", "secure"], {"tables": ["raw"], "of_before": ["paths"]}),
        (["rights"], {"tables": ["raw"], "of_before": ["paths", "secure"]}),
        (["mapping"], {"stored": ["mapping"], "of_before": ["secure"]}),
        (["rights", "paths", "mapping"],
         {"tables": ["raw"], "stored": ["mapping"], "of_before": ["secure"]}),
        # What it is made of was loaded, and it was not run.
        (["seed"], {"stored": ["seed"], "of_before": ["secure"]}),
        (["seed", "mapping", "rights", "paths", "secure"], {}),
    ],
)  # fmt: skip
def test_W1_what_is_of_another_state_than_what_else_is_read_is_told(
    no_dbt, newer, wanted
):
    metastore, graph = after_a_run_of_a_part()
    for name, node in graph["nodes"].items():
        read = node["depends_on"]["nodes"]
        read = read if node["config"]["materialized"] == "view" else [name]
        # A view that is run reads the newest of each.
        runs = {
            each: SECOND
            if name in newer and (each in newer or len(read) == 1)
            else FIRST
            for each in read
        }
        texts = [
            f"select * from s_versions.{each}__v{run}" for each, run in runs.items()
        ]
        metastore.relations["s", name] = {"kept_versions": "none"}
        metastore.texts["s", name] = " union all ".join(texts)
    read = ("secure", "paths", "seed")
    relations = [SimpleNamespace(schema="s", identifier=name) for name in read]
    nothing = {key: [] for key in ("tables", "stored", "of_before", "not_built")}
    assert hooks.made_since(metastore, graph, relations) == nothing | wanted


def test_W9_what_is_asked_and_not_built_is_told(no_dbt):
    metastore, graph = after_a_run_of_a_part()
    metastore.relations["s", "secure"] = {"kept_versions": "none"}
    metastore.texts["s", "secure"] = f"select * from s_versions.rights__v{FIRST}"
    read = ("secure", "paths", "SEED")
    relations = [SimpleNamespace(schema="s", identifier=name) for name in read]
    found = hooks.made_since(metastore, graph, relations)
    assert found["not_built"] == ["paths", "seed"]


def test_versions_that_are_kept_for_a_test_are_no_rights_that_are_stale(no_dbt):
    metastore = RememberedMetastore("s", "s_versions")
    first, second = (f"2026010{day}000000_0123abcd" for day in (1, 2))
    for run, content in ((first, 1), (second, 2)):
        reads = encoded(str(RawRead("r.raw", run, content, content)))
        metastore.relations["s_versions", f"a__v{run}"] = {"raw_reads": reads}
    views = {"a": second, "older": first, "accepted_ids": first}
    for name, run in views.items():
        metastore.relations["s", name] = {"kept_versions": "none"}
        metastore.texts["s", name] = f"select * from s_versions.a__v{run}"
    # The ids that passed keeps_most_ids: no view of a model, which nobody reads.
    metastore.relations["s", "accepted_ids"] = {}
    metastore.raw["r.raw"] = 2
    graph, a = a_graph(a={}), SimpleNamespace(schema="s", identifier="a")
    graph["sources"]["raw"]["loaded_at_field"] = None

    def changed() -> list[str]:
        found = hooks.changed_raw_tables(metastore, graph, [a])
        return [reading["read"].run for reading in found]

    assert changed() == [first]
    metastore.drop("s", "older")
    assert changed() == []


@pytest.mark.parametrize("between", [(), ("below",)])
def test_rights_that_are_a_plain_view_are_as_old_as_what_they_are_made_of(
    no_dbt, between
):
    # A model that says nothing of its materialization is a view for dbt.
    metastore = RememberedMetastore("s", "s_versions")
    first, second = (f"2026010{day}000000_0123abcd" for day in (1, 2))
    for run, content in ((first, 1), (second, 2)):
        reads = encoded(str(RawRead("r.raw", run, content, content)))
        metastore.relations["s_versions", f"a__v{run}"] = {"raw_reads": reads}
    (lowest, *others) = [*between, "access"]
    views = {"a": second, lowest: first, "secure": first}
    for name in (*views, *others):
        metastore.relations["s", name] = {"kept_versions": "none"}
        read = f"s_versions.a__v{views[name]}" if name in views else f"s.{lowest}"
        metastore.texts["s", name] = f"select * from {read}"
    metastore.raw["r.raw"] = 2
    kinds = {"a": {}, lowest: {"kind": "view", "reads": ["a"]}}
    kinds |= {name: {"kind": "view", "reads": [lowest]} for name in others}
    graph, access = a_graph(**kinds), SimpleNamespace(schema="s", identifier="access")
    graph["sources"]["raw"]["loaded_at_field"] = None

    def runs_of(asked: Callable) -> list[str]:
        return [each["read"].run for each in asked(metastore, graph, [access])]

    assert runs_of(hooks.changed_raw_tables) == [first]
    assert runs_of(hooks.raw_tables_of) == [first]
    # A secure dataset that still reads what the rights were made of before.
    metastore.texts["s", lowest] = metastore.texts["s", "a"]
    assert runs_of(hooks.changed_raw_tables) == [first]
    assert runs_of(hooks.raw_tables_of) == [second]
    metastore.drop("s", "secure")
    assert runs_of(hooks.changed_raw_tables) == []


NOW = "s_versions.a__v20260304050607_0123abcd"


@pytest.mark.parametrize(
    ("kept", "column", "table", "is_comparable"),
    [
        (True, "a_id: long", "replica.a", True),
        (False, "a_id: long", "replica.a", False),
        (True, "a_id: string", "replica.a", False),
        (True, "a_id: long", "sample.a", False),
        (True, "a_id: long", None, False),
    ],
)
def test_F7_the_version_before_is_compared_if_it_says_the_same_things(
    monkeypatch, kept, column, table, is_comparable
):
    def told(of_table: str | None, column: str) -> str:
        read = of_table and encoded(str(RawRead(of_table, "20260101000000_0123abcd")))
        properties = f"[raw_reads={read}]" if read else "[x=1]"
        return (
            f"Table Properties: {properties}\nSchema: root\n"
            f" |-- {column} (nullable = true)\n"
        )

    before = "s_versions.a__v20260303050607_0123abcd"
    texts = {
        "a": f"View Text: select * from {NOW}\nTable Properties:"
        f" [kept_versions={encoded(before) if kept else 'none'}]",
        NOW.partition(".")[2]: told("replica.a", "a_id: long"),
        before.partition(".")[2]: told(table, column),
    }
    for name in ("definitions", "definitions_of_versions"):
        monkeypatch.setattr(one_state, name, lambda *_: texts)
    found = one_state.version_before(None, "s", "A")
    wanted = {"version": before, "since": "2026-03-04 05:06:07"}
    assert found == (wanted if is_comparable else None)
    # Of a view over two versions none is the one before.
    texts["a"] = texts["a"].replace(NOW, f"{NOW} join {before}", 1)
    assert one_state.version_before(None, "s", "A") is None


def test_spark_finds_nothing_to_hide_in_a_property():
    # Spark hides what has one of these in its name or value.
    hidden = re.compile("(?i)secret|password|token|access[.]?key|url|credential")
    version = "secret_versions.hourly_tokens__v20260101000000_0123abcd"
    value = encoded(version)
    assert not hidden.search(value)
    # What was written before it was encoded.
    for plain in ("", "none", "secure_datasets", "cafe", "a_versions.b__v1"):
        assert decoded(plain) == plain
    assert versions_kept(f"[kept_versions={value}, other=1]") == [version]
    for text in ("hourly", "tokens", "credentials", "dev"):
        assert not hidden.search(shown(text)) and decoded(shown(text)) == text
    assert shown("dev") == "dev"
    read = RawRead("credentials.url", "20260101000000_0123abcd", 1, 2, 3)
    assert raw_reads(f"[raw_reads={encoded(str(read))}]") == {read}


class IcebergTable:
    """Stands for an adapter over one table of Iceberg's, and for what it answers.

    history  when each snapshot became the current one, its id, and whether it is kept
    """

    def __init__(
        self, snapshot="none", properties="", columns=("id",), history=(), log="v1"
    ):
        self.told = f"[{properties}current-snapshot-id={snapshot},format=iceberg/avro]"
        self.columns, self.history, self.log = columns, history, log
        # What the columns were, by the snapshots in which they were others.
        self.columns_then: dict[str, tuple] = {}
        self.asked: list[str] = []

    def execute(self, statement: str, fetch: bool = False):
        self.asked.append(statement)
        rows: list[tuple] = []
        if statement.startswith("describe table extended"):
            rows = [(name, "bigint", "") for name in self.columns]
            rows += [("", "", ""), ("Provider", "iceberg", "")]
            rows += [("Table Properties", self.told, "")]
        elif "metadata_log_entries" in statement:
            rows = [(self.log,)]
        elif statement.startswith("describe query"):
            then = self.columns_then.get(statement.split()[-1], self.columns)
            rows = [(name, "bigint", "") for name in then]
        elif ".history" in statement:
            rows = [
                (snapshot, micros_of(moment(at))) for at, snapshot, _ in self.history
            ]
        elif ".snapshots" in statement:
            rows = [(snapshot,) for _, snapshot, is_kept in self.history if is_kept]
        elif statement.startswith("select"):
            rows = [(3, "7" if "xxhash64" in statement else "8", None)]
            number = re.match(r"select count[(][*][)], (-?[0-9]+), ", statement)
            rows = [(3, int(number[1]), None)] if number else rows
        return None, SimpleNamespace(rows=rows)

    def read(self, relation="lake.r.t") -> RawRead:
        source = {"relation_name": relation, "loaded_at_field": None}
        return read_raw(self, source | {"source_name": "r", "name": "t"}, "run")


def test_a_snapshot_says_whether_a_table_has_changed_and_no_row_is_hashed():
    tables = [
        IcebergTable("17"), IcebergTable("18"), IcebergTable("17", columns=("uid",)),
        IcebergTable("17", log="v2"), IcebergTable("17", "a=1,"),
    ]  # fmt: skip
    first, later, renamed, committed, same = (table.read() for table in tables)
    assert not any("xxhash64" in text for table in tables for text in table.asked)
    assert has_changed(first, later) and has_changed(first, renamed)
    # Columns of the same names may be new ones, without another snapshot.
    assert has_changed(first, committed)
    assert not has_changed(first, same)
    assert first.snapshot == 17 and RawRead.parse(str(first)) == first
    assert RawRead.parse("r.t:run:3:8:") == RawRead("r.t", "run", 3, 8)


@pytest.mark.parametrize(
    "table",
    [
        # Without a snapshot it is empty.
        IcebergTable(),
        # Somebody's property, whose value looks like the one that counts.
        IcebergTable("17", "a=,current-snapshot-id=16,"),
        # A session may read it by another branch.
        IcebergTable("17", "a=1,write.wap.enabled=TRUE,"),
    ],
)
def test_where_no_snapshot_is_sure_the_rows_are_asked(table):
    assert table.read().snapshot is None
    assert "xxhash64" in table.asked[-1]


def test_a_branch_is_described_as_the_main_one_and_its_rows_are_asked():
    table = IcebergTable("17")
    for relation in ("lake.r.t.branch_audit", "`lake`.`r`.`t`.`tag_t`"):
        assert table.read(relation).snapshot is None
        assert "xxhash64" in table.asked[-1]


def test_a_past_is_read_from_the_snapshot_of_then_as_far_as_they_are_kept():
    days = [f"2026-05-0{day} 00:00:00" for day in (1, 2, 3, 4)]
    kept = (False, False, True, True)
    table = IcebergTable("4", history=list(zip(days, (1, 2, 3, 4), kept, strict=True)))
    for as_of, snapshot in (
        ("2026-05-03", 3),
        ("2026-05-03 12:00:00", 3),
        (days[3], 4),
    ):
        found = raw_rows_as_of(table, "users", "lake.r.t", as_of)
        assert found == f"lake.r.t version as of {snapshot}"
    for as_of in ("2026-04-01", "2026-05-02 23:00:00"):
        with pytest.raises(CompilationError) as refused:
            raw_rows_as_of(table, "users", "lake.r.t", as_of)
        assert "keeps no snapshot of" in str(refused.value)
        assert f"but those since {days[2]} (both UTC)" in str(refused.value)
    table.columns_then["3"] = ("id", "_deleted")
    with pytest.raises(
        CompilationError, match=r"other columns, .*: _deleted\. The feed"
    ):
        raw_rows_as_of(table, "users", "lake.r.t", days[2])
    assert raw_rows_as_of(table, "users", "lake.r.t", days[3])
    assert raw_rows_as_of(IcebergTable(), "users", "lake.r.t", "2026-05-03") is None


def test_a_history_is_read_from_the_snapshots_that_follow_each_other():
    days = [f"2026-05-0{day} 00:00:00" for day in (1, 2, 3, 4, 4)]
    since = [micros_of(moment(day)) for day in days]
    kept = (True, False, True, True, True)
    history = list(zip(days, (1, 2, 3, 4, 3), kept, strict=True))
    table = IcebergTable("3", history=history)

    def found(as_of: str | None = None) -> list[tuple]:
        told = raw_snapshots(table, "users", "lake.r.t", as_of) or []
        assert all(each["columns"] == ["`id`"] for each in told)
        return [(each["rows"], each["since"]) for each in told]

    third = ("lake.r.t version as of 3", since[2])
    # Rolled back at the moment of the fourth; the first is followed by nothing kept.
    assert found() == [third, ("lake.r.t version as of 3", since[3])]
    assert found("2026-05-03 12:00:00") == [third]
    assert found(days[0]) == [("lake.r.t version as of 1", since[0])]
    with pytest.raises(CompilationError, match="keeps no snapshot of 2026-05-02"):
        found(days[1])
    assert raw_snapshots(IcebergTable(), "users", "lake.r.t") is None


def test_a_history_has_the_order_of_the_log_whatever_clocks_say():
    """The third commit, a revocation, comes from a writer whose clock is behind."""
    at = [f"2026-05-01 12:00:{seconds}" for seconds in (10, 30, 20)]
    table = IcebergTable(
        "3", history=list(zip(at, (1, 2, 3), (True,) * 3, strict=True))
    )
    told = raw_snapshots(table, "users", "lake.r.t") or []
    assert [(each["rows"][-1], each["since"]) for each in told] == [
        ("1", micros_of(moment(at[0]))),
        ("3", micros_of(moment(at[1]))),
    ]
    for as_of, snapshot in ((at[2], 1), (at[1], 3), ("2026-05-02", 3)):
        found = raw_rows_as_of(table, "users", "lake.r.t", as_of)
        assert found == f"lake.r.t version as of {snapshot}"
    # A log that ends elsewhere is no log of what is described.
    table.history = table.history[:2]
    with pytest.raises(CompilationError, match="while its history was read"):
        raw_rows_as_of(table, "users", "lake.r.t", at[1])


def test_a_history_begins_with_the_columns_of_now():
    days = [f"2026-05-0{day} 00:00:00" for day in (1, 2, 3)]
    history = [(at, number, True) for number, at in enumerate(days, 1)]
    table = IcebergTable("3", history=history)
    table.columns_then["1"] = ("uid",)
    told = raw_snapshots(table, "users", "lake.r.t") or []
    assert [each["rows"][-1] for each in told] == ["2", "3"]
    # A column that no snapshot has yet is read as the table has it.
    table.columns_then["3"] = ("uid",)
    (now,) = raw_snapshots(table, "users", "lake.r.t")[1:]
    assert now["rows"] == "lake.r.t"
    with pytest.raises(CompilationError, match=r"had other columns, .*: id, uid"):
        raw_snapshots(table, "users", "lake.r.t", days[2])


def test_the_raw_schema_may_be_another_catalog_s(clock, no_dbt):
    metastore = RememberedMetastore("s", "s_versions", "lake.raw")

    def run(name: str) -> None:
        hooks.begin_run(metastore, "a", 20, ["s"], ["s"], ["s.a"])
        hooks.note_raw_schema(metastore, name, False)
        hooks.end_run(metastore)

    for catalog in ("lake", "sea"):
        said = (
            f"in the catalog {catalog}, if the profile has one, is no such schema: na"
        )
        with pytest.raises(CompilationError, match=said):
            run(f"{catalog}.nowhere")
    run("lake.Raw")
    assert metastore.schemas["s_versions"]["raw_schema"] == encoded("lake.Raw")


def test_columns_that_trade_their_names_are_a_change():
    asked = []

    class Adapter:
        """Stands for an adapter over a table of two columns."""

        def __init__(self, *names: str) -> None:
            self.names = names

        def execute(self, statement: str, fetch: bool = False):
            if statement.startswith("describe"):
                rows = [(name, "bigint", "") for name in self.names]
            elif statement == "refresh table r.t":
                rows = []
            else:
                asked.append(statement.split("xxhash64(")[2].split(",")[0])
                rows = [(0, 0, 0)]
            return None, SimpleNamespace(rows=rows)

    source = {"relation_name": "r.t", "loaded_at_field": None}
    source |= {"source_name": "r", "name": "t"}
    for order in (("a", "b"), ("b", "a"), ("a", "b")):
        read_raw(Adapter(*order), source, "run")
    assert asked[0] == asked[2] != asked[1]


@needs_spark
@pytest.mark.parametrize(
    ("query", "change", "zone"),
    [
        # Not where the description of the partitions begins.
        ("select 1L as `#seq`, 'true' as is_active", {"true": "false"}, "UTC"),
        # The same numbers of another type.
        ("select 1 as a", {"1": "1L"}, "UTC"),
        # Two equal rows, which change together.
        ("select * from values (8, 1), (8, 1) as t (a, b)", {"8": "9"}, "UTC"),
        # One hour, which this zone has twice.
        (
            "select named_struct('until', timestamp '2026-10-25 00:30:00Z') as valid",
            {"00:30": "01:30"},
            "Europe/Berlin",
        ),
    ],
)
def test_a_change_is_noticed_in_whatever_column(spark, query, change, zone):
    relation = f"{SCHEMA}_of_columns"
    source = {"relation_name": relation, "loaded_at_field": None}
    source |= {"source_name": "r", "name": "t"}
    (old, new), read = next(iter(change.items())), []
    with with_settings(spark, {"spark.sql.session.timeZone": zone}):
        for text in (query, query.replace(old, new)):
            spark.sql(f"drop table if exists {relation}")
            spark.sql(f"create table {relation} using parquet as {text}")
            read.append(read_raw(publishing_adapter(spark), source, "run"))
    spark.sql(f"drop table {relation}")
    assert read[0].rows == read[1].rows
    assert has_changed(*read)


@needs_spark
def test_partitions_of_the_metastore_are_read_or_refused(spark, tmp_path):
    """The profile's setting has Spark read all files in the folder instead."""
    relation = f"{SCHEMA}_partitioned"
    source = {"relation_name": relation, "loaded_at_field": None}
    source |= {"source_name": "r", "name": "t"}
    setting = "spark.sql.hive.manageFilesourcePartitions"
    spark.range(3).write.parquet(str(tmp_path / "elsewhere"))
    with with_settings(spark, {setting: "true"}):
        spark.sql(
            f"create table {relation} (id bigint, load int) using parquet"
            " partitioned by (load)"
        )
        try:
            spark.sql(f"insert into {relation} values (9, 1)")
            spark.sql(
                f"alter table {relation} add partition (load = 2)"
                f" location '{tmp_path / 'elsewhere'}'"
            )
            assert read_raw(publishing_adapter(spark), source, "run").rows == 4
            spark.conf.set(setting, "false")
            spark.sql(f"refresh table {relation}")
            assert spark.table(relation).count() == 1
            with pytest.raises(DbtRuntimeError, match=f"{setting} to false"):
                read_raw(publishing_adapter(spark), source, "run")
            # Views over it read the same, by the setting of who reads.
            spark.conf.set(setting, "true")
            spark.sql(f"create view {relation}_below as select * from {relation}")
            spark.sql(f"create view {relation}_view as select * from {relation}_below")
            source["relation_name"] = f"{relation}_view"
            assert read_raw(spark_adapter(spark), source, "run").rows == 4
            spark.conf.set(setting, "false")
            spark.sql(f"refresh table {relation}")
            assert spark.table(f"{relation}_view").count() == 1
            with pytest.raises(DbtRuntimeError, match=f"{relation}, which {relation}_"):
                read_raw(spark_adapter(spark), source, "run")
            spark.sql(
                f"create or replace view {relation}_view as select * from"
                f" parquet.`{tmp_path / 'elsewhere'}`"
            )
            assert read_raw(spark_adapter(spark), source, "run").rows == 3
        finally:
            for view in ("view", "below"):
                spark.sql(f"drop view if exists {relation}_{view}")
            spark.sql(f"drop table {relation}")


OF_A_VIEW = {
    "Type": "VIEW",
    "View Catalog and Namespace": "spark_catalog.`its own`",
}
PARTITIONED = {
    "Type": "MANAGED",
    "Provider": "parquet",
    "Partition Provider": "Catalog",
}


class ToldOfViews:
    """An adapter whose metastore has views over a table with partitions."""

    def __init__(self, setting: str = "false", **texts: str) -> None:
        self.setting = setting
        self.relations = {
            f"spark_catalog.`s`.`{name}`": {**OF_A_VIEW, "View Text": text}
            for name, text in texts.items()
        } | {"spark_catalog.`its own`.`parts`": PARTITIONED}
        self.functions = {
            "`s`.`plain`": "Data Access:   CONTAINS SQL",
            "`s`.`rows_of`": "Data Access:   READS SQL DATA",
            "spark_catalog.`its own`.`bare`": "Data Access:   READS SQL DATA",
        }

    def execute(self, statement: str, fetch: bool = False):
        """Answer what is asked of a raw table."""
        if statement.startswith("set "):
            return None, SimpleNamespace(rows=[(statement[4:], self.setting)])
        *_, name = statement.split(" extended ")
        if "function" in statement:
            if name not in self.functions:
                raise DbtRuntimeError("[UNRESOLVED_ROUTINE]")
            return None, SimpleNamespace(rows=[(self.functions[name],)])
        if name not in self.relations:
            raise DbtRuntimeError(f"[TABLE_OR_VIEW_NOT_FOUND] {name}")
        return None, SimpleNamespace(rows=list(self.relations[name].items()))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("select * from parts", "parts, which spark_catalog.`s`.`v` reads, has its"),
        ("select * from `its own`.parts", "which spark_catalog.`s`.`v` reads, has its"),
        ("select 1 from range(3) join s.below using (id)", "`its own`.parts, which"),
        ("select 1 where exists (select 1 from s.below)", "`its own`.parts, which"),
        ("select * from s.unread", "'spark_catalog.s.unread' reads can't be found out"),
        ("from t |> select 1", "'spark_catalog.s.v' reads can't be found out: pipes"),
        (
            "select * from s.rows_of(1)",
            "calls `s`.`rows_of`, which may read tables. If",
        ),
        ("select bare(1) as a", "calls `bare`, which may read tables."),
        ("select s.plain(1) as a, count(*) from s.v", None),
        ("with parts as (select 1) select * from parts", None),
        ("select * from parquet.`/its own/parts`, s.nowhere, lake.a.b", None),
        (f"select * from `its own`_versions.parts{VERSION_1}", "can't be found out"),
        (f"select * from its_versions.parts{VERSION_1}", None),
    ],
)
def test_a_view_is_followed_to_the_partitions_that_are_not_asked_for(text, why):
    texts = {"v": text, "below": "select * from parts", "unread": ""}
    relation = "spark_catalog.`s`.`v`"
    asked_for = ToldOfViews("true", **texts)
    assert columns_of(asked_for, relation)
    adapter = ToldOfViews(**texts)
    if why is None:
        assert columns_of(adapter, relation)
        return
    with pytest.raises(DbtRuntimeError) as refused:
        columns_of(adapter, relation)
    told = " ".join(str(refused.value).split())
    assert why in told
    assert "manageFilesourcePartitions to false, so that Spark reads" in told


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("select * from parts", "In which schema 'spark_catalog.s.v' reads is not"),
        ("select bare(1) as a from `s`.`others`", "In which schema 'spark_catalog.s."),
        # As Hive writes its views.
        ("select `o`.`a`, upper(`o`.`b`) as `b` from `s`.`others` `o`", None),
        ("select count(*) as `a` from lake.s.others where `a` in (1, 2)", None),
        ("select `p`.`a` from `its own`.`parts` `p`", "which spark_catalog.`s`.`v` re"),
        ("select * from s.rows_of(1)", "calls `s`.`rows_of`, which may read tables."),
    ],
)
def test_a_view_whose_schema_is_not_told_is_refused_if_it_needs_one(text, why):
    relation = "spark_catalog.`s`.`v`"
    adapter = ToldOfViews(v=text)
    adapter.relations[relation].pop("View Catalog and Namespace")
    # In the catalog of the session.
    adapter.relations["`its own`.`parts`"] = PARTITIONED
    if why is None:
        assert columns_of(adapter, relation)
        return
    with pytest.raises(DbtRuntimeError) as refused:
        columns_of(adapter, relation)
    assert why in " ".join(str(refused.value).split())


@needs_spark
def test_what_another_process_has_loaded_is_read(spark, tmp_path):
    # What replicates writes files; a process that has read the table knows older ones.
    rows = {name: tmp_path / name for name in ("older", "newer")}
    for number, folder in enumerate(rows.values(), start=1):
        spark.range(number).coalesce(1).write.parquet(str(folder))
    spark.sql(
        f"create table {SCHEMA}_replicated using parquet location '{rows['older']}'"
    )
    relation = f"{SCHEMA}_replicated"
    source = {"relation_name": relation, "loaded_at_field": None}
    source |= {"source_name": "r", "name": "t"}
    try:
        assert spark.table(relation).count() == 1
        shutil.rmtree(rows["older"])
        shutil.copytree(rows["newer"], rows["older"])
        assert read_raw(publishing_adapter(spark), source, "run").rows == 2
        assert spark.table(relation).count() == 2
    finally:
        spark.sql(f"drop table {relation}")


def test_seeds_and_tests_do_not_say_that_a_schema_holds_all_rows(clock, no_dbt):
    metastore = RememberedMetastore("s", "s_versions")
    metastore.relations["s", "a_seed"] = {"kept_versions": "none"}
    assert hold(metastore, "b")
    hooks.end_run(metastore)
    run = a_run(metastore)
    run.begin("--empty")
    run.end()
    assert metastore.schemas["s_versions"]["rows"] == "some"
    assert hold(metastore, "b")
    hooks.end_run(metastore)
    assert metastore.schemas["s_versions"]["rows"] == "some"


def test_some_rows_are_not_published_over_another_target_s_of_all(clock, no_dbt):
    metastore = RememberedMetastore("mine", "mine_versions", "readers")
    metastore.create_schema("theirs_versions")
    metastore.relations["readers", "a"] = {"kept_versions": "none"}
    parts = ("a", 20, ["mine", "readers"], ["mine"], ["mine.base", "readers.a"])
    version = "versions.base__v20260101000000_0123abcd"

    def begin(text: str, rows: str) -> None:
        metastore.texts["readers", "a"] = text
        metastore.schemas["mine_versions"]["rows"] = rows
        run = Run(metastore, *parts)
        run.begin("--empty")
        run.end()

    for text, rows in {
        f"select * from theirs_{version}": "some",
        f"select * from mine_{version}": "all",
        "select 1": "all",
    }.items():
        with pytest.raises(DbtRuntimeError, match="over what is read in readers"):
            begin(text, rows)
    begin(f"select * from mine_{version}", "some")
    begin("select 1", "some")


def test_a_schema_is_one_project_s_until_somebody_says_otherwise(clock, no_dbt):
    metastore = RememberedMetastore("s", "s_versions", "raw", "raw_versions")

    def run(
        project: str | None, models: list[str], stores: tuple[str, ...] = ("s", "raw")
    ) -> None:
        parts = ("a", 20, [*stores], [*stores], models, project)
        hooks.begin_run(metastore, *parts)
        hooks.end_run(metastore)

    run(None, ["s.a"])
    run("acme", ["s.a"])
    run("acme", ["s.a"])
    # The sample's raw tables are seeds, and may be several projects'.
    run("secure_datasets", ["t.a"], ("raw",))
    # But not where another one has published.
    with pytest.raises(DbtRuntimeError, match="by the project 'acme', and"):
        run("secure_datasets", ["t.a"])
    before = dict(metastore.schemas["s_versions"])
    for call in (run, lambda project, models: hold(metastore, "b", models, project)):
        with pytest.raises(DbtRuntimeError) as refused:
            call("secure_datasets", ["s.a"])
        told = str(refused.value)
        assert "What s shows was published by the project 'acme', and this is" in told
        assert metastore.schemas["s_versions"] == before
        assert not metastore.relations, "the lock is released"
        assert metastore.dbt_run is None, "and nobody takes it for held"
    metastore.execute(re.search(r"alter schema .*\)(?=\.)", told)[0])
    run("secure_datasets", ["s.a"])
    with pytest.raises(DbtRuntimeError, match="by the project 'secure_datasets', and"):
        run("acme", ["s.a"])


def test_what_another_target_shows_in_a_schema_of_both_is_not_replaced(clock, no_dbt):
    # A schema may be called the same whatever the target, so that readers know it.
    metastore = RememberedMetastore("prod", "dev", "readers", "moved", "seeds")
    named = "{0}_versions.base__v20260101000000_0123abcd"
    versions = ", ".join(named.format(store) for store in ("prod", "seeds"))
    metastore.relations["readers", "a"] = {"kept_versions": "none"}

    def run(store: str, target: str) -> None:
        models = [f"{store}.base", "readers.a"]
        schemas = [store, "seeds"]
        parts = (["readers", *schemas], schemas, models, "acme", target)
        hooks.begin_run(metastore, "a", 20, *parts)
        hooks.end_run(metastore)

    run("prod", "prod")
    metastore.texts["readers", "a"] = f"select * from {versions}"
    run("prod", "prod")
    with pytest.raises(DbtRuntimeError) as refused:
        run("dev", "hourly")
    told = str(refused.value)
    assert (
        "What readers.a shows was published from prod, and this run would put" in told
    )
    assert list(metastore.relations) == [("readers", "a")], "the lock is released"
    assert "target" not in metastore.schemas["dev_versions"]
    # What is stored may move, for one target.
    run("moved", "prod")
    metastore.execute(re.search(r"alter schema .*\)(?=\.)", told)[0])
    run("dev", "hourly")
    # Where nothing is stored any more, nothing is taken away.
    run("prod", "prod")
    del metastore.schemas["prod_versions"]
    run("dev", "hourly")


@pytest.mark.parametrize(
    ("rights", "secure"), [("readers", "readers"), ("rights", "readers")]
)
def test_rights_that_are_stored_in_a_schema_of_both_are_not_shared_without_rows(
    clock, no_dbt, rights, secure
):
    metastore = RememberedMetastore("prod", "dev", "rights", "readers")
    named = "{0}_versions.{1}__v20260101000000_0123abcd"

    def run(target: str) -> None:
        stores = [target, rights]
        models = [f"{target}.base", f"{rights}.access", f"{secure}.secure"]
        parts = ([*stores, secure], stores, models, "acme", target)
        hooks.begin_run(metastore, "a", 20, *parts)
        hooks.end_run(metastore)

    run("prod")
    for schema, name, read in (
        (rights, "access", [named.format(rights, "access")]),
        (
            secure,
            "secure",
            [named.format(*p) for p in (("prod", "base"), (rights, "access"))],
        ),
    ):
        metastore.relations[schema, name] = {"kept_versions": "none"}
        metastore.texts[schema, name] = f"select * from {', '.join(read)}"
    run("prod")
    with pytest.raises(DbtRuntimeError, match="secure shows was published from prod"):
        run("dev")
    assert metastore.schemas[f"{rights}_versions"]["target"] == encoded("prod")
    # Where everything is called the same, everything is shared.
    metastore.texts[secure, "secure"] = (
        f"select * from {named.format(rights, 'access')}"
    )
    run("dev")


def test_the_sample_is_not_put_in_the_place_of_a_replica(clock, no_dbt):
    metastore = RememberedMetastore("s", "s_versions", "raw", "raw_versions")
    for replica in ("replica", "replica_2"):
        metastore.create_schema(replica)

    def run(name: str, is_sample: bool) -> None:
        hooks.begin_run(metastore, "a", 20, ["s", "raw"], ["s", "raw"], ["s.a"])
        hooks.note_raw_schema(metastore, name, is_sample)
        hooks.end_run(metastore)

    run("sample", True)
    # Neither what the sample's rows made nor what is not there has another place.
    metastore.create_schema("not_yet_run")
    hooks.check_raw_schema(metastore, ["s", "nowhere", "not_yet_run"])
    run("replica", False)
    with pytest.raises(CompilationError, match="names 'nowhere', and the metastore"):
        run("nowhere", False)
    assert not metastore.relations, "the lock is released"
    assert metastore.schemas["s_versions"]["raw_schema"] == encoded("replica")
    run("Replica_2", False)
    run("replica_2", False)
    with pytest.raises(CompilationError, match=r"\{raw_schema: replica_2\}'\.$"):
        hooks.check_raw_schema(metastore, ["S"])
    with pytest.raises(CompilationError) as refused:
        run("sample", True)
    told = str(refused.value)
    assert "What s shows was read from the raw tables in replica_2, and this" in told
    assert not metastore.relations, "the lock is released"
    assert "raw_schema" not in metastore.schemas["raw_versions"]
    # Nor is a past state of a replica one of the sample.
    past = "s_as_of_20260501_000000"
    metastore.create_schema(past)
    parts = ("b", 20, [past], [past], [f"{past}.a"])
    hooks.begin_run(metastore, *parts)
    hooks.note_raw_schema(metastore, "replica_2", False)
    hooks.end_run(metastore)
    del metastore.schemas[f"{past}_versions"]
    hooks.begin_run(metastore, *parts)
    with pytest.raises(CompilationError) as of_past:
        hooks.note_raw_schema(metastore, "sample", True)
    said = "What s shows was read from the raw tables in replica_2, and this run would"
    assert f"{said} build a past state of the sample" in str(of_past.value)
    assert not metastore.relations, "the lock is released"
    metastore.execute(re.search(r"alter schema .*\)(?=\.)", told)[0])
    run("sample", True)


# What is said


@pytest.mark.parametrize("name", ["a b", "a.b", "a;b", "", 7])
def test_a_schema_is_named_as_schemas_are(name):
    with pytest.raises(CompilationError, match="must be the name of a schema"):
        schema_name(None, name)
    assert schema_name(None, "Some_Schema1") == "some_schema1"


@needs_spark
def test_a_schema_that_can_not_be_is_refused_before_anything_starts(fresh, seen):
    result = fresh("run", "--vars", "{readers: 'a b'}", fails=True)
    assert f"A schema is to be named '{SCHEMA}_a b', by sample_schema" in message(
        result
    )
    assert seen() == SEEN_AT_FIRST


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("run_lock_seconds", "ten", "a number of seconds from 1 to 3600"),
        ("run_lock_seconds", True, "a number of seconds from 1 to 3600"),
        ("run_lock_seconds", 0, "a number of seconds from 1 to 3600"),
        ("rejected_rows_error_threshold", "1000", "a whole number from 0 on"),
        ("dangling_references_error_threshold", 1.5, "a whole number from 0 on"),
        ("access_stale_error_hours", -1, "a number of hours from 0 on"),
        ("raw_schema", 5, "the name of a schema, such as replica or lake.raw"),
        ("sample_schema", "a b", "the name of a schema"),
        ("loads_sample", "yes", "true or false"),
        ("sample_day", "soon", "a day, such as '2026-10-01', or empty"),
        ("sample_day", "2026-02-30", "a day, such as '2026-10-01', or empty"),
        ("summary", "no", "true or false"),
        ("run_lock_seconds", None, "a number of seconds from 1 to 3600"),
        ("compute", None, "a text"),
        ("pipeline_role", ["a"], "a text"),
        ("readers", "everybody", "a list of texts"),
        (
            "roles_may_be_missing",
            [1],
            "a list of roles: names, or groups by their ids such as {group: 17}",
        ),
    ],
)
def test_a_variable_must_be_what_it_is_for(name, value, kind):
    with pytest.raises(CompilationError) as wrong:
        check_vars(None, {name: value})
    assert f"The variable {name} is {value!r}; it must be {kind}." in str(wrong.value)


def test_the_variables_of_the_project_are_what_they_must_be():
    variables = yaml.safe_load((ROOT / "dbt_project.yml").read_text())["vars"]
    check_vars(None, {name: variables[name] for name in EXPECTED if name in variables})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"readers": ["r"], "readers_view": True}, "has the variable readers_views"),
        ({"Raw_Schema": "replica"}, "has the variable raw_schema"),
        ({"as-of": "2026-05-01"}, "has the variable as_of"),
        ({"meant_losses": [], "sample_dat": ""}, "has the variable sample_day"),
        ({"product": {"readers_views": True}}, "'product', which is a project"),
        ({"root": {"readers_views": True}}, "'root', which is a project"),
        # What is known, what is another project's own, and what is like nothing.
        ({"raw_schema": "r", "readers_views": True, "before": "a"}, None),
        ({"reader": 1, "sample_dates": 2, "report_id": 3}, None),
        ({}, None),
    ],
)
def test_a_variable_that_is_spelled_wrongly_stops(given, said):
    declared = yaml.safe_load((ROOT / "dbt_project.yml").read_text())["vars"]
    of_root = {"reader": 0, "root": {"sample_dates": 1}}
    projects = {
        name: SimpleNamespace(vars=SimpleNamespace(to_dict=lambda names=names: names))
        for name, names in {"product": declared, "root": of_root}.items()
    }
    config = SimpleNamespace(
        cli_vars=given, load_dependencies=lambda: projects, project_name="root"
    )
    adapter = SimpleNamespace(config=config)
    if said is None:
        check_spelling_of_vars(adapter, "product")
        return
    with pytest.raises(CompilationError) as wrong:
        check_spelling_of_vars(adapter, "product")
    assert said in str(wrong.value)


def test_a_variable_of_the_package_under_another_project_s_name_is_told(monkeypatch):
    of_root = {
        "dormant_days": 1,
        "root": {"dormant_days": 30, "review_days": 30, "readers": ["r"], "own": 1},
        "product": {"readers": ["s"]},
    }
    names = {
        "product": {"dormant_days": 90, "review_days": 100, "readers": []},
        "root": of_root,
    }
    projects = {
        name: SimpleNamespace(vars=SimpleNamespace(to_dict=lambda names=names: names))
        for name, names in names.items()
    }
    told = []
    monkeypatch.setattr(settings.logger, "warning", told.append)
    for root in projects:
        config = SimpleNamespace(
            cli_vars={}, load_dependencies=lambda: projects, project_name=root
        )
        check_spelling_of_vars(SimpleNamespace(config=config), "product")
    assert told == [
        "The dbt_project.yml of root has 'review_days' under vars of root, where"
        " product reads nothing: if its variable is meant, put it under vars of"
        " product."
    ]


@pytest.mark.parametrize("given", [{}, {"readers": ["r"]}], ids=str)
def test_a_variable_of_the_package_in_dbt_project_yml_is_one_that_it_has(given):
    declared = yaml.safe_load((ROOT / "dbt_project.yml").read_text())["vars"]
    of_root = {"readers_view": "its own", "product": {"readers_views": True}}
    projects = {
        name: SimpleNamespace(vars=SimpleNamespace(to_dict=lambda names=names: names))
        for name, names in {"product": declared, "root": of_root}.items()
    }
    config = SimpleNamespace(
        cli_vars=given, load_dependencies=lambda: projects, project_name="root"
    )
    adapter = SimpleNamespace(config=config)
    check_spelling_of_vars(adapter, "product")
    of_root["product"] = {"readers_view": True}
    with pytest.raises(CompilationError) as wrong:
        check_spelling_of_vars(adapter, "product")
    assert (
        "The dbt_project.yml of root has 'readers_view' under vars of product, which"
        " has the variable readers_views: spell it so." in str(wrong.value)
    )


def test_the_page_tells_what_dbt_says():
    page = (ROOT / "docs/bad-input.md").read_text(encoding="utf-8")
    section = page.split("\n## Runs\n")[1].split("\n## ")[0]
    told = re.findall(r"\| `([^`]+)` \|$", section, re.M)
    assert len(told) == 39
    sources = (ROOT / "src/dbt_secure_spark").glob("*.py")
    others = [
        ROOT / f"src/{name}.py"
        for name in (
            "dbt/adapters/secure_spark/impl",
            "secure_datasets/runs/accepted_ids",
            "secure_datasets/adapter_methods",
            "secure_datasets/render/granting",
            "secure_datasets/installed",
        )
    ]
    code = "".join(path.read_text() for path in (*sources, *others))
    # Sentences stand on several lines there.
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    macros = (
        "macros/adapter/check_adapter",
        "src/dbt/include/secure_spark/macros/end_run",
        "src/dbt/include/secure_spark/macros/begin_version",
    )
    texts = code + "".join((ROOT / f"{macro}.sql").read_text() for macro in macros)
    for sentence in told[:5] + told[6:31] + told[32:]:
        assert sentence in texts, sentence
    assert "stays as it was: " in texts
    assert "its rows and rights were read by several runs, and" in texts
