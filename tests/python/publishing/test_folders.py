"""Large versions lie in folders, of which a query reads those of its keys."""

from __future__ import annotations

import re
from types import SimpleNamespace

import duckdb
import pytest
import sqlglot
from dbt_common.exceptions import CompilationError
from own_config import together
from projects import ROOT
from small_project import small_project

from dbt_secure_spark import layout
from dbt_secure_spark.folders import (
    Buckets,
    Folders,
    cases_of,
    key_of,
    number_for,
    with_folders,
)
from dbt_secure_spark.versions import RawRead

needs_spark = pytest.mark.spark
SCHEMA = "in_folders"
BY_KEY = Folders("k", 4)
KINDS = "'bigint', 'int', 'smallint', 'tinyint'"
MATCHED = (
    f"b.k = a.k and (typeof(a.k) not in ({KINDS})"
    " or b.`k__mod_4` = pmod(cast(a.k as bigint), 4))"
)
MATCHED_OF_C = MATCHED.replace("b.", "c.")


VERSION = "secure_datasets_versions.base__v20260101000000_01234567"
CASES = (("A", "k"), ("B b", "m"))
BY_CASE = Folders("c", 4, CASES)


def read_in_folders(sql: str, folders: Folders = BY_KEY) -> str:
    return with_folders("some_view", sql, "s.base", "v.base__v1", folders)


# ---------------------------------------------------------------------------
# Queries
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            "select b.x, a.u from s.base as b inner join s.a as a on b.k = a.k",
            f"select b.x, a.u from s.base as b inner join s.a as a on {MATCHED}",
        ),
        (
            "select b.x from s.a as a join S.Base b on (a.u = 1 and b.k = a.k)",
            f"select b.x from s.a as a join S.Base b on (a.u = 1 and {MATCHED})",
        ),
        # A count of rows asks for no folder, nor does a star of another query.
        (
            "with a as (select * from s.a)"
            " select count(*) from s.base as b join a on b.k = a.k",
            "with a as (select * from s.a)"
            f" select count(*) from s.base as b join a on {MATCHED}",
        ),
        (
            "select B.x from s.base as b join s.a as `A` on b.k = `A`.k",
            "select B.x from s.base as b join s.a as `A` on "
            + MATCHED.replace("a.k", "`A`.k"),
        ),
        # Each read by itself.
        (
            "select b.x from s.base as b join s.a as a on b.k = a.k union all"
            " select c.x from s.base as c join s.z as a on c.k = a.k",
            f"select b.x from s.base as b join s.a as a on {MATCHED} union all"
            f" select c.x from s.base as c join s.z as a on {MATCHED_OF_C}",
        ),
    ],
)  # fmt: skip
def test_a_join_by_the_key_joins_the_folder(sql, told):
    assert read_in_folders(sql) == told


@pytest.mark.parametrize(
    "sql",
    [
        # Rows without a match stay.
        "select b.x from s.base as b left join s.a as a on b.k = a.k",
        "select b.x from s.base as b full join s.a as a on b.k = a.k",
        # Another match is enough.
        "select b.x from s.base as b join s.a as a on b.k = a.k or a.u = 1",
        "select b.x from s.base as b join s.a as a on not (b.k = a.k)",
        # Not the key, not another relation's, not by itself.
        "select b.x from s.base as b join s.a as a on b.other = a.k",
        "select b.x from s.base as b join s.a as a on b.k = b.k",
        "select b.x from s.base as b join s.a as a on b.k + 1 = a.k",
        "select b.x from s.base as b join s.a as a on b.k = k",
        "select b.x from s.base as b join s.a as a on x.b.k = a.k",
        "select b.x from s.base as b where b.k = 5",
        # A star may ask for the folder, whatever it is called by.
        "select * from s.base as b join s.a as a on b.k = a.k",
        "select B.* from s.base as b join s.a as a on b.k = a.k",
        "select struct(b.*) from s.base as b join s.a as a on b.k = a.k",
        "select count(* except (x)) from s.base as b join s.a as a on b.k = a.k",
        "select count(*, 1) from s.base as b join s.a as a on b.k = a.k",
        "select b.x from s.base as b natural join s.a",
        "select b.x from s.base as b join s.a using (k)",
        "select x.* from (s.base as b join s.a as a on b.k = a.k) as x",
        # A pivot groups by what it does not name.
        "select b.* from s.base pivot (max(x) for k in (1, 5)) as b"
        " join s.a as a on b.k = a.k",
        "select b.x from s.base as b join (select k from s.a) as a on b.k = a.k"
        " pivot (count(distinct k, x) for y in ('z'))",
        "select b.x from s.base as b join s.a as a on b.k = a.k"
        " pivot (count(distinct k, x) for y in ('z'))",
        # Another name for the columns, or none that is plain for the relation.
        "select b.x from s.base as b(k, x) join s.a as a on b.k = a.k",
        "select `my b`.x from s.base as `my b` join s.a as a on `my b`.k = a.k",
        "select b.x from `s`.base as b join s.a as a on b.k = a.k",
        "select base.x from s.base join s.a as a on base.k = a.k",
        # Two of one name, of which the condition may mean the other.
        "select a.x from (s.base as b join s.c as c on b.k = c.k) join s.d as b"
        " on true join s.a as a on b.k = a.k",
        # Something else is called like the folder.
        "select b.x, k__mod_4 from s.base as b join s.a as a on b.k = a.k",
        # Not each time.
        "select b.x from s.base as b join s.a as a on b.k = a.k"
        " union all select b.x from s.base as b",
    ],
)
def test_any_other_query_reads_the_version_whole_and_no_folder(sql):
    told = read_in_folders(sql)
    rows = "(\nselect * except (`k__mod_4`) from v.base__v1\n)"
    assert told.count(rows) == len(re.findall(r"`?s`?\.base", sql))
    assert not re.search(r"`?s`?\.base|pmod", told)


def of_case(key: str, folder: str) -> str:
    return (
        f"b.{key} = a.{key} and (typeof(a.{key}) not in ({KINDS})"
        f" or b.`{BY_CASE.column}` = {folder})"
    )


FIRST_CASE = of_case("k", "pmod(cast(a.k as bigint), 4)")
SECOND_CASE = of_case("m", "4 + pmod(cast(a.m as bigint), 4)")
LAST = f"b.`{BY_CASE.column}` = 8 and "


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        (
            "select b.x from s.base as b join s.a as a on b.k = a.k where b.c = 'A'",
            f"select b.x from s.base as b join s.a as a on {FIRST_CASE}"
            " where b.c = 'A'",
        ),
        (
            "select b.x from s.base as b join s.a as a on b.m = a.m"
            " where (b.y > 1 and b.C = 'B b')",
            f"select b.x from s.base as b join s.a as a on {SECOND_CASE}"
            " where (b.y > 1 and b.C = 'B b')",
        ),
        # What is of no case lies in a folder of its own, and needs no join.
        (
            "select b.x from s.base as b where b.c = 'Other'",
            f"select b.x from s.base as b where {LAST}b.c = 'Other'",
        ),
        # Each read by itself.
        (
            "select b.x from s.base as b join s.a as a on b.k = a.k where b.c = 'A'"
            " union all select b.x from s.base as b where b.c = 'Other'",
            f"select b.x from s.base as b join s.a as a on {FIRST_CASE}"
            f" where b.c = 'A' union all select b.x from s.base as b where {LAST}b.c ="
            " 'Other'",
        ),
    ],
)  # fmt: skip
def test_of_a_case_the_folders_of_its_key_are_read(sql, told):
    assert read_in_folders(sql, BY_CASE) == told


@pytest.mark.parametrize(
    "sql",
    [
        # No case is said, or not of every row.
        "select b.x from s.base as b join s.a as a on b.k = a.k",
        "select b.x from s.base as b join s.a as a on b.k = a.k"
        " where b.c = 'A' or b.c = 'B b'",
        "select b.x from s.base as b join s.a as a on b.k = a.k where not (b.c = 'A')",
        "select b.x from s.base as b join s.a as a on b.k = a.k where b.c <> 'A'",
        "select b.x from s.base as b join s.a as a on b.k = a.k where b.c <=> 'A'",
        "select b.x from s.base as b join s.a as a on b.k = a.k where b.c like 'A'",
        "select b.x from s.base as b join s.a as a on b.k = a.k where lower(b.c) = 'A'",
        "select b.x from s.base as b join s.a as a on b.k = a.k where a.c = 'A'",
        "select b.x from s.base as b join s.a as a on b.k = a.k where c = 'A'",
        "select b.x from s.base as b join s.a as a on b.k = a.k where b.c = a.c",
        # The key of another case.
        "select b.x from s.base as b join s.a as a on b.m = a.m where b.c = 'A'",
        # Two cases, and texts that may be another's when they are read.
        "select b.x from s.base as b where b.c = 'Other' and b.c = 'A'",
        r"select b.x from s.base as b where b.c = 'Oth\er'",
        r"select b.x from s.base as b where b.c = r'Other'",
        "select b.x from s.base as b where b.c = ''",
        # Not each time.
        "select b.x from s.base as b where b.c = 'Other' union all"
        " select b.x from s.base as b",
    ],
)
def test_where_no_case_is_plain_the_version_is_read_whole(sql):
    told = read_in_folders(sql, BY_CASE)
    rows = f"(\nselect * except (`{BY_CASE.column}`) from v.base__v1\n)"
    assert told.count(rows) == sql.count("s.base")
    assert "s.base" not in told and "pmod" not in told


def test_a_row_lies_in_the_folder_of_its_case():
    query = (
        f"select {BY_CASE.of_row} from (select * from (values ('A', 6, 1),"
        " ('B b', 6, 7), ('A', null, 1), ('a', 1, 1), (null, 1, 1), ('B b', 1, -1))"
        " as t(c, k, m))"
    )
    query = sqlglot.transpile(query, read="spark", write="duckdb")[0]
    database = duckdb.connect()
    database.execute("create macro pmod(a, b) as ((a % b) + b) % b")
    found = [row[0] for row in database.execute(query).fetchall()]
    assert found == [2, 7, 8, 8, 8, 7]


def test_a_version_of_other_cases_is_read_whole():
    told = BY_CASE.published_rows(VERSION)
    assert Folders.read(told, CASES) == BY_CASE
    query = "select b.x from s.base as b join s.a as a on b.k = a.k where b.c = 'A'"
    for others in ((), (("A", "m"), ("B b", "k")), (("B b", "m"), ("A", "k"))):
        folders = Folders.read(told, others)
        assert folders.column == BY_CASE.column
        read = read_in_folders(query, folders)
        assert f"select * except (`{BY_CASE.column}`)" in read and "pmod" not in read


@pytest.mark.parametrize(
    "sql",
    [
        "select b.x from s.base_2 as b join s.a as a on b.k = a.k",
        "select 's.base' as x -- s.base",
    ],
)
def test_a_query_of_another_relation_stays_as_it_is_written(sql):
    assert read_in_folders(sql) == sql


def test_columns_that_are_called_by_the_relation_s_whole_name_are_found_in_it():
    told = read_in_folders("select s.base.k, s.base.info.z from S.Base where s.base.k")
    rows = "(\nselect * except (`k__mod_4`) from v.base__v1\n) as base"
    assert told.lower() == f"select base.k, base.info.z from {rows} where base.k"


# ---------------------------------------------------------------------------
# Settings
# ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "number"),
    [
        (0, 1), (4_999_999, 1), (5_000_000, 64), (19_999_999, 64),
        (20_000_000, 256), (10**10, 256),
    ],
)  # fmt: skip
def test_the_number_follows_the_rows(rows, number):
    assert number_for(rows) == number


def test_what_is_told_of_a_view_says_its_folders():
    query = BY_KEY.published_rows(VERSION)
    assert Folders.read(f"View Text: {query}\nCreated By ...") == BY_KEY
    for told in ("View Text: select * from v.base__v1", "", None):
        assert Folders.read(told) is None


def test_a_comment_that_looks_like_folders_is_none():
    told = "Comment: select * except (`k__mod_4`) from x\nView Text: select * from v.b"
    assert Folders.read(told) is None


NUMBER = "it must be auto or a whole number from 1 to 4096"


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({"folders": "many"}, f"folders of 'base' is many; {NUMBER}"),
        ({"folders": 0}, f"folders of 'base' is 0; {NUMBER}"),
        ({"folders": 5000}, f"folders of 'base' is 5000; {NUMBER}"),
        ({"folders": True}, f"folders of 'base' is True; {NUMBER}"),
        ({"folders": 2.5}, f"folders of 'base' is 2.5; {NUMBER}"),
        ({"folders": 64}, "'base' has folders, and its cluster_by does not begin with"),
        (
            {"folders": 64, "cluster_by": ["lower(k)"]},
            "'base' has folders, and its cluster_by does not begin with a column's",
        ),
        (
            {"folders": 64, "cluster_by": ["k"], "partition_by": ["day"]},
            "'base' has folders and a partition_by: its files can't be laid out by",
        ),
        (
            {"folders": 64, "cluster_by": ["k"], "clustered_by": ["day"]},
            "'base' has folders and a clustered_by: its files can't be laid out by",
        ),
    ],
)
def test_a_setting_that_cannot_be_followed_is_said(config, sentence):
    with pytest.raises(CompilationError) as wrong:
        key_of({"name": "base", "config": config})
    assert sentence in str(wrong.value)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        ({}, None),
        ({"cluster_by": ["k"]}, "k"),
        ({"cluster_by": ["k"], "statistics": ["k"]}, None),
        ({"cluster_by": ["k"], "in_time": True}, None),
        ({"folders": "auto"}, None),
        ({"folders": "auto", "cluster_by": ["k", "id"]}, "k"),
        ({"folders": "auto", "cluster_by": ["lower(k)"]}, None),
        ({"folders": "auto", "cluster_by": ["k"], "partition_by": ["day"]}, None),
        ({"folders": 1}, None),
        ({"folders": 64, "cluster_by": ["k"]}, "k"),
    ],
)
def test_any_other_setting_gives_a_key_or_none(config, key):
    assert key_of({"name": "base", "config": config}) == key


@pytest.mark.parametrize(
    "cases", [{}, [], "k", {"A": 1}, {1: "k"}, {"it's": "k"}, {"A": "lower(k)"}]
)
def test_cases_that_cannot_be_followed_are_said(cases):
    with pytest.raises(CompilationError, match="folders_by of 'base' "):
        cases_of({"name": "base", "config": {"folders_by": cases}})


def test_a_base_with_a_switch_lies_in_folders_by_the_keys_of_its_cases():
    switched = [each for each in together()["datasets"].values() if "switch" in each]
    assert switched
    for entry in switched:
        switch = entry["switch"]
        keys = {
            value: next(iter(case["keys"].values()))
            for value, case in switch["cases"].items()
            if "keys" in case
        }
        model = ROOT / f"models/datasets/{entry['base']}.sql"
        text = model.read_text(encoding="utf-8")
        assert f"cluster_by=['{switch['column']}'" in text
        assert f"folders_by={keys}" in text


@pytest.mark.parametrize(
    ("raw", "before", "number", "files"),
    [
        # The first version, and one of a table with too few rows to be counted.
        (9_000_000, None, None, None),
        (9_000, 9_000, None, 1),
        # A base that has fewer rows than what it is made of.
        (90_000_000, 100_000, None, 1),
        (90_000_000, 5_000_000, 64, 2),
        (90_000_000, 21_000_000, 256, 5),
    ],
)
def test_auto_follows_the_rows_of_the_version_before(
    monkeypatch, raw, before, number, files
):
    version = None if before is None else "s_versions.base__v1"
    published = SimpleNamespace(version_of=lambda _: version)
    read = RawRead("r.base", "run", rows=raw)
    run = SimpleNamespace(published=published, reads_of=lambda *_: {read}, catalog=None)
    answers = {
        "select count(*) from s_versions.base__v1": [(before,)],
        "describe query select `k` from (\nselect\n) as of_query": [("k", "bigint")],
        "select version()": [("4.3.0 0",)],
    }
    monkeypatch.setattr(layout, "run_of", lambda _: run)
    monkeypatch.setattr(layout, "rows_of", lambda _, query: answers[query])
    config = {"cluster_by": ["k"]}
    node = {"name": "base", "config": config, "schema": "s", "alias": "base"}
    found = layout.folders_for(None, {}, node, "select")
    config |= {"folders": "auto", "statistics": ["k"]}
    assert found == layout.folders_for(None, {}, node, "select")
    assert found == (Folders("k", number) if number else None)
    assert layout.files_for(None, node) == files
    # Spark 3 leaves no column out of a view.
    answers["select version()"] = [("3.5.9 0",)]
    assert layout.folders_for(None, {}, node, "select") is None
    config["folders"] = 64
    with pytest.raises(CompilationError, match="has folders, which need"):
        layout.folders_for(None, {}, node, "select")
    # A version of Iceberg has no such column.
    config["folders"], run.catalog = "auto", "lake"
    found = layout.folders_for(None, {}, node, "select")
    assert found == (Buckets("k", number, "lake") if number else None)


def test_a_version_of_iceberg_lies_in_buckets_where_it_can(monkeypatch):
    run = SimpleNamespace(catalog="lake")
    kinds = {"k": "bigint", "d": "double"}
    monkeypatch.setattr(layout, "run_of", lambda _: run)
    monkeypatch.setattr(layout, "kind_of", lambda _, __, key, ___: kinds[key])
    config = {"folders": 8, "cluster_by": ["k"]}
    node = {"name": "base", "config": config}
    buckets = layout.folders_for(None, {}, node, "select")
    assert buckets.clause == "bucket(8, `k`)"
    assert buckets.place == "lake.system.bucket(8, `k`)"
    assert buckets.published_rows("s_versions.b") == "select * from s_versions.b"
    config["folders_by"] = {"Project": "k"}
    with pytest.raises(CompilationError, match="'base' has folders_by, by which"):
        layout.folders_for(None, {}, node, "select")
    node["config"] = {"folders": 8, "cluster_by": ["d"]}
    with pytest.raises(CompilationError, match="d, its first cluster_by, is no whole"):
        layout.folders_for(None, {}, node, "select")


# ---------------------------------------------------------------------------
# On Spark
# ---------------------------------------------------------------------------

ROWS = "select id, if(id % 10 = 0, null, id % 7 - 2) as k, 'n' || id as name"
MODELS = {
    "models/base.sql": "{{ config(folders=4, cluster_by=['k', 'id']) }}"
    f" {ROWS} from range(100)",
    "models/events.sql": "{{ config(folders=4, cluster_by=['kind'],"
    " folders_by={'A': 'k', 'B b': 'id'}) }} select *, case id % 4 when 0 then 'A'"
    " when 1 then 'B b' when 2 then 'all' end as kind from {{ ref('base') }}",
    "models/py_events.py": "def model(dbt, session):\n"
    "    dbt.config(materialized='published_view', folders=4, cluster_by=['kind'],\n"
    "               folders_by={'A': 'k', 'B b': 'id'})\n"
    "    return dbt.ref('events')\n",
    "models/secured_events.sql": "{{ config(materialized='view', inline_views=true) }}"
    " select b.id, a.user_id from {{ ref('events') }} as b"
    " inner join {{ ref('access') }} as a on b.k = a.k where b.kind = 'A' union all"
    " select b.id, a.user_id from {{ ref('events') }} as b"
    " inner join {{ ref('access') }} as a on b.id = a.k where b.kind = 'B b' union all"
    " select b.id, cast(null as bigint) from {{ ref('events') }} as b"
    " where b.kind = 'all'",
    "models/py_base.py": "def model(dbt, session):\n"
    "    dbt.config(materialized='published_view', folders=4, cluster_by=['k'])\n"
    "    return dbt.ref('base')\n",
    "models/access.sql": "{{ config(cluster_by=['user_id'], statistics=['user_id']) }}"
    " select * from values (1L, 1L), (1L, -2L), (2L, 3L), (2L, null)"
    " as (user_id, k)",
    "models/secured.sql": "{{ config(materialized='view', inline_views=true) }}"
    " select b.id, b.k, b.name, a.user_id from {{ ref('base') }} as b"
    " inner join {{ ref('access') }} as a on b.k = a.k",
    "models/all_of_it.sql": "{{ config(materialized='view') }}"
    " select * from {{ ref('py_base') }}",
    "models/_models.yml": """
models:
  - name: base
    config: {contract: {enforced: true}}
    columns:
      - {name: id, data_type: bigint}
      - {name: k, data_type: bigint}
      - {name: name, data_type: string}
  - name: py_base
    columns:
      - {name: k, data_type: bigint}
  - name: py_events
    columns:
      - {name: k, data_type: bigint}
      - {name: id, data_type: bigint}
      - {name: kind, data_type: string}
""",
}


def text_of(spark, view: str) -> str:
    told = spark.sql(f"describe extended {SCHEMA}.{view}").collect()
    return next(row[1] for row in told if row[0] == "View Text")


@needs_spark
def test_a_version_in_folders_shows_the_rows_and_no_folder(
    spark, dbt, product, tmp_path
):
    stored = {"+materialized": "published_view", "+file_format": "parquet"}
    settings = {"models": {"secure_datasets": stored}}
    folder = tmp_path / "project"
    project = small_project(folder, product, SCHEMA, MODELS, settings=settings)
    run = ("run", "--vars", "{summary: false}")
    result = dbt(*run, folder=project)
    assert result.success, result.exception

    base = {tuple(row) for row in spark.sql(f"{ROWS} from range(100)").collect()}
    for view in ("base", "py_base", "all_of_it"):
        rows = spark.table(f"{SCHEMA}.{view}")
        assert rows.columns == ["id", "k", "name"]
        assert {tuple(row) for row in rows.collect()} == base
    for view in ("base", "py_base"):
        assert Folders.read(text_of(spark, view)) == BY_KEY
    # A text has no remainder.
    by_name = "{{ config(folders=4, cluster_by=['name']) }} select 'a' as name"
    (project / "models/by_name.sql").write_text(by_name)
    failed = dbt(*run, "--select", "by_name", folder=project)
    told = [str(each.message) for each in failed.result]
    sentence = "'by_name' has folders, and name, its first cluster_by, is no whole"
    assert any(sentence in each for each in told)
    # Spark may find a value of another type equal to texts that no case has.
    for number, kind in enumerate(("id % 2", "name collate UTF8_LCASE")):
        by_kind = (
            "{{ config(folders=4, cluster_by=['kind'], folders_by={'1': 'id'}) }}"
            f" select id, {kind} as kind from {{{{ ref('base') }}}}"
        )
        (project / f"models/by_kind_{number}.sql").write_text(by_kind)
        failed = dbt(*run, "--select", f"by_kind_{number}", folder=project)
        told = [str(each.message) for each in failed.result]
        assert any("is no plain string, of whose values" in each for each in told)
        (project / f"models/by_kind_{number}.sql").unlink()
    (project / "models/by_name.sql").unlink()

    secured = f"select * from {SCHEMA}.secured"
    held = {1: {1, -2}, 2: {3}}
    expected = {(*row, u) for row in base for u, keys in held.items() if row[1] in keys}
    assert {tuple(row) for row in spark.sql(secured).collect()} == expected
    asked = spark.sql(f"{secured} where user_id = 2")
    assert {row.k for row in asked.collect()} == {3}
    plan = asked._jdf.queryExecution().toString()
    assert "k__mod_4" in plan.split("PartitionFilters: ")[1].split("]")[0]
    assert "dynamicpruning" in plan

    kinds = {0: "A", 1: "B b", 2: "all"}
    for view in ("events", "py_events"):
        of_kinds = {(*row, kinds.get(row[0] % 4)) for row in base}
        assert {tuple(row) for row in spark.table(f"{SCHEMA}.{view}").collect()} == (
            of_kinds
        )
        told = text_of(spark, view)
        assert Folders.read(told, (("A", "k"), ("B b", "id"))).cases
    seen = spark.sql(f"select * from {SCHEMA}.secured_events")
    in_kinds = {
        *((i, u) for i, k, _ in base for u in held if i % 4 == 0 and k in held[u]),
        *((i, u) for i, _, _ in base for u in held if i % 4 == 1 and i in held[u]),
        *((i, None) for i, _, _ in base if i % 4 == 2),
    }
    assert {tuple(row) for row in seen.collect()} == in_kinds
    spark.conf.set("spark.sql.debug.maxToStringFields", 1000)
    plan = seen.where("user_id = 2")._jdf.queryExecution().toString()
    assert plan.count("dynamicpruning") >= 2
    plan = seen._jdf.queryExecution().toString()
    spark.conf.unset("spark.sql.debug.maxToStringFields")
    # What is for everyone is one folder, whoever asks.
    assert re.search(r"__mod_4#\d+L? = 8\)", plan.partition("Physical Plan")[2])

    # Without folders from then on, what reads it follows with its own next run.
    path = project / "models/base.sql"
    path.write_text(path.read_text().replace("folders=4, ", ""))
    assert dbt(*run, "--select", "base", folder=project).success
    assert {tuple(row) for row in spark.sql(secured).collect()} == expected
    assert dbt(*run, folder=project).success
    assert "__mod_" not in text_of(spark, "secured")
    assert {tuple(row) for row in spark.sql(secured).collect()} == expected
    spark.sql(f"drop schema {SCHEMA} cascade")
    spark.sql(f"drop schema {SCHEMA}_versions cascade")
