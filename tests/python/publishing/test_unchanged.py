"""A version stays where all that its rows come from is as it was, and nowhere else."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from small_project import small_project

from dbt_spark_session import unchanged

pytestmark = pytest.mark.spark
SCHEMA = "kept_versions_of"
RAW = "kept_raw"
STAGED = f"{SCHEMA}.staged"
STAGE = (
    "{{ config(keep_unchanged=true) }}"
    " select raw.id, raw.name, codes.meaning from {{ source('raw', 'rows') }} as raw"
    " left join {{ ref('codes') }} as codes on raw.code = codes.code"
)
MODELS = {
    "models/staged.sql": STAGE,
    "models/of_all.sql": "{{ config(keep_unchanged=true) }}"
    " select count(*) as number from {{ ref('staged') }}",
    "models/secured.sql": "{{ config(materialized='view', inline_views=true) }}"
    " select name, number from {{ ref('staged') }} cross join {{ ref('of_all') }}",
    "models/_models.yml": f"""
sources:
  - name: raw
    schema: {RAW}
    tables: [name: rows, name: rows]
""".replace("[name: rows, name: rows]", "[{name: rows}]"),
}
RUN = ("run", "--vars", "{summary: false}")


@pytest.fixture(scope="module")
def asked(spark, dbt, product, tmp_path_factory):
    """Run the project: `asked("--select", ...)` gives the version that is published."""
    folder = tmp_path_factory.mktemp("unchanged") / "project"
    stored = {"+materialized": "published_view", "+file_format": "parquet"}
    seeds = {"seeds/codes.csv": [{"code": "a", "meaning": "first"}]}
    project = small_project(
        folder,
        product,
        SCHEMA,
        MODELS,
        seeds=seeds,
        settings={"models": {"secure_datasets": stored}},
    )
    spark.sql(f"create schema {RAW}")
    write(spark, "(1, 'x', 'a'), (2, 'y', 'b')")
    assert dbt("seed", "--select", "codes", folder=project).success

    def ask(*arguments: str, relation: str = "staged") -> str:
        result = dbt(*RUN, *arguments, folder=project)
        assert result.success, result.exception or [r.message for r in result.result]
        return version(spark, relation)

    ask.project = project
    ask.dbt = dbt
    ask()
    yield ask
    for schema in (RAW, SCHEMA, f"{SCHEMA}_versions"):
        spark.sql(f"drop schema {schema} cascade")


def write(spark, rows: str, kind: str = "table", using: str = "using parquet") -> None:
    """Make the raw table anew."""
    for each in ("table", "view"):
        if spark.catalog.tableExists(f"{RAW}.rows"):
            is_view = spark.catalog.getTable(f"{RAW}.rows").tableType == "VIEW"
            if is_view == (each == "view"):
                spark.sql(f"drop {each} {RAW}.rows")
    query = f"select * from values {rows} as (id, name, code)"
    spark.sql(f"create {kind} {RAW}.rows {using} as {query}")


def version(spark, relation: str = "staged") -> str:
    told = spark.sql(f"describe extended {SCHEMA}.{relation}").collect()
    text = next(row[1] for row in told if row[0] == "View Text")
    return re.search(r"\S+__v\w+", text)[0]


def property_of(spark, of_version: str, name: str) -> str | None:
    told = spark.sql(f"show tblproperties {of_version}").collect()
    return dict(map(tuple, told)).get(name)


def names(spark) -> list[str]:
    return sorted(row.name for row in spark.table(STAGED).collect())


def test_a_version_stays_and_is_read_from_what_the_raw_tables_hold_now(spark, asked):
    first = version(spark)
    read = property_of(spark, first, "raw_reads")
    of_all = version(spark, "of_all")
    assert asked() == first
    # What comes from nothing but what stays, stays.
    assert version(spark, "of_all") == of_all
    again = property_of(spark, first, "raw_reads")
    assert again != read
    assert names(spark) == ["x", "y"]
    assert spark.table(f"{SCHEMA}.secured").count() == 2


def test_equal_rows_in_other_files_are_not_staged_again(spark, asked):
    before = version(spark)
    write(spark, "(2, 'y', 'b'), (1, 'x', 'a')")
    assert asked() == before


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("(1, 'x', 'a')", ["x"]),
        ("(1, 'x', 'b'), (2, 'z', null)", ["x", "z"]),
    ],
)
def test_other_rows_are_staged(spark, asked, rows, expected):
    before = version(spark), version(spark, "of_all")
    write(spark, rows)
    after = asked(), version(spark, "of_all")
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert names(spark) == expected


def test_a_column_of_another_name_or_type_is_staged(spark, asked):
    before = version(spark)
    spark.sql(f"create table {RAW}.others using parquet as select * from {RAW}.rows")
    spark.sql(f"drop table {RAW}.rows")
    columns = "cast(id as bigint) as id, name, code"
    spark.sql(
        f"create table {RAW}.rows using parquet as select {columns} from {RAW}.others"
    )
    spark.sql(f"drop table {RAW}.others")
    assert asked() != before


def test_another_query_config_seed_or_setting_writes_anew(spark, asked):
    path = asked.project / "models/staged.sql"
    before = version(spark)
    path.write_text(path.read_text() + " where raw.id > 0")
    other_query = asked()
    path.write_text(path.read_text().replace("true)", "true, cluster_by=['id'])"))
    other_config = asked()
    seed = asked.project / "seeds/codes.csv"
    seed.write_text(seed.read_text() + "b,second\n")
    assert asked.dbt("seed", "--select", "codes", folder=asked.project).success
    other_seed = asked()
    assert {r.meaning for r in spark.table(STAGED).collect()} >= {"second"}
    profiles = asked.project / "profiles.yml"
    text = profiles.read_text()
    assert "timeZone: UTC" in text
    profiles.write_text(text.replace("timeZone: UTC", "timeZone: Asia/Tokyo"))
    other_setting = asked()
    profiles.write_text(text)
    told = (before, other_query, other_config, other_seed, other_setting)
    assert len(set(told)) == len(told)


@pytest.fixture
def query(asked):
    """Put another query in the place of the staged one's, until the test ends."""
    path = asked.project / "models/staged.sql"
    before = path.read_text()
    yield path.write_text
    path.write_text(before)


@pytest.mark.parametrize(
    "spelled",
    [
        f"`{SCHEMA}`.`codes`",
        f"{SCHEMA} . codes",
        f"/* was: /* left */ don't */ {SCHEMA}.codes",
    ],
)
def test_a_parent_in_another_spelling_counts(spark, asked, query, spelled):
    seed, reference = asked.project / "seeds/codes.csv", "{{ ref('codes') }}"
    codes = seed.read_text()
    query(STAGE.replace(reference, f"{spelled} /* {reference} */"))
    first = asked()
    assert asked() == first
    seed.write_text(codes + "b,third\n")
    assert asked.dbt("seed", "--select", "codes", folder=asked.project).success
    assert asked() != first
    assert {r.meaning for r in spark.table(STAGED).collect()} >= {"third"}
    seed.write_text(codes)
    assert asked.dbt("seed", "--select", "codes", folder=asked.project).success


@pytest.mark.parametrize(
    "condition",
    [
        f"{SCHEMA}.cleared(raw.code)",
        "current_date > date'2020-01-01'",
        "now() > timestamp'2020-01-01'",
        "cast('today' as date) > date'2020-01-01'",
        "rand() >= 0",
    ],
)
def test_what_may_be_something_else_each_time_is_written_anew(
    spark, asked, query, condition
):
    spark.sql(
        f"create or replace function {SCHEMA}.cleared(l string) returns boolean"
        " return l in ('a', 'b')"
    )
    query(f"{STAGE} where {condition}")
    assert asked() != asked()


def test_words_of_sql_are_no_functions(asked, query):
    query(
        f"{STAGE} inner join (values ('x')) as a (b) on true"
        " where raw.id in (1, 2) and (not (false)"
        " or (case when (true) then (raw.id) end between (1) and (2)))"
        " and upper(raw.name) like ('%') and exists (select 1)"
    )
    assert asked() == asked()


def test_a_view_that_somebody_has_altered_is_put_right(spark, asked):
    of_now = asked()
    rows = names(spark)
    spark.sql(
        f"alter view {STAGED} as select * from {of_now}"
        f" union all select 9, 'theirs', null from {of_now}"
    )
    assert "theirs" in names(spark)
    asked()
    assert names(spark) == rows


def test_a_version_with_a_damaged_file_is_written_anew(spark, asked):
    before = asked()
    rows = names(spark)
    file = Path(spark.table(before).inputFiles()[0].removeprefix("file:"))
    # As a disk leaves it, with no sum beside it that tells.
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(file.read_bytes()[:100])
    spark.sql(f"refresh table {before}")
    assert asked() != before
    assert names(spark) == rows


def test_full_refresh_writes_anew(asked):
    before = asked()
    assert asked("--full-refresh") != before


def test_a_version_that_has_lost_rows_is_written_anew(spark, asked, tmp_path):
    before = asked()
    rows = names(spark)
    for number, file in enumerate(spark.table(before).inputFiles()):
        shutil.move(file.removeprefix("file:"), tmp_path / f"away {number}")
    spark.sql(f"refresh table {before}")
    assert names(spark) == []
    assert asked() != before
    assert names(spark) == rows


@pytest.mark.parametrize("left", ["false", "id = 1"])
def test_rows_that_were_away_while_the_version_was_written_come_back(
    spark, asked, query, monkeypatch, left
):
    """Rows are taken away after the run has looked at the raw table, and put back."""
    write(spark, "(1, 'x', 'a'), (2, 'y', 'b')")
    spark.sql(f"create table {RAW}.others using parquet as select * from {RAW}.rows")
    overwrite = f"insert overwrite {RAW}.rows select * from {RAW}.others"
    versions_of_parents = unchanged.versions_of_parents

    def looked_at(*arguments):
        if f"'{left}'" in arguments[-1]:
            spark.sql(f"{overwrite} where {left}")
        return versions_of_parents(*arguments)

    query(f"{STAGE} where '{left}' = '{left}'")
    with monkeypatch.context() as patch:
        patch.setattr(unchanged, "versions_of_parents", looked_at)
        lacking = asked()
    assert names(spark) != ["x", "y"]
    assert property_of(spark, lacking, "made_of") is None
    spark.sql(overwrite)
    assert asked() != lacking
    assert names(spark) == ["x", "y"]
    spark.sql(f"drop table {RAW}.others")


def test_what_a_pre_hook_writes_into_a_raw_table_is_staged(spark, asked, query):
    write(spark, "(1, 'x', 'a')")
    hook = f"insert into {RAW}.rows values (2, 'y', 'b')"
    query(STAGE.replace("true", f'true, pre_hook="{hook}"', 1))
    asked()
    assert names(spark) == ["x", "y"]
    asked()
    assert names(spark) == ["x", "y", "y"]
    write(spark, "(1, 'x', 'a'), (2, 'y', 'b')")


@pytest.mark.parametrize(
    ("kind", "using"), [("view", ""), ("table", "stored as textfile")]
)
def test_a_raw_table_that_tells_no_files_is_staged_each_time(spark, asked, kind, using):
    write(spark, "(1, 'x', 'a'), (2, 'y', 'b')", kind, using)
    assert asked() != asked()
    write(spark, "(1, 'x', 'a'), (2, 'y', 'b')")


def test_an_empty_raw_table_is_staged_each_time(spark, asked):
    write(spark, "(1, 'x', 'a')")
    spark.sql(f"truncate table {RAW}.rows")
    assert asked() != asked()
    write(spark, "(1, 'x', 'a'), (2, 'y', 'b')")


def test_what_only_some_runs_read_is_noted_for_the_next(spark, asked):
    """A partial run after a change stays out, with versions that stayed, too."""
    asked()
    secured = f"select name, number from {SCHEMA}.secured"
    write(spark, "(1, 'x', 'a'), (3, 'w', 'b')")
    before = asked("--select", "staged"), version(spark, "of_all")
    found = {tuple(row) for row in spark.sql(secured).collect()}
    assert found == {("x", 2), ("y", 2)}
    assert asked("--select", "staged", "of_all", "secured") == before[0]
    found = {tuple(row) for row in spark.sql(secured).collect()}
    assert found == {("x", 2), ("w", 2)}


def test_a_python_model_is_not_kept(asked):
    path = asked.project / "models/by_code.py"
    path.write_text(
        "def model(dbt, session):\n"
        "    dbt.config(materialized='published_view', keep_unchanged=True)\n"
        "    return dbt.ref('staged')\n"
    )
    failed = asked.dbt(*RUN, "--select", "by_code", folder=asked.project)
    path.unlink()
    told = [str(result.message) for result in failed.result]
    assert any("'by_code' has keep_unchanged, and is no SQL model" in t for t in told)
