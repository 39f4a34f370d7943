"""A version whose rows are copied from the one before, but those of new raw rows."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError
from small_project import plain_project

from dbt_secure_spark import appended, raw_files, unchanged
from dbt_secure_spark.appended import Key
from dbt_secure_spark.raw_files import RawFile, RawFiles
from dbt_secure_spark.unchanged import MadeOf
from dbt_secure_spark.versions import Published

SCHEMA, RAW = "appended_versions_of", "appended_raw"
STAGED = f"{SCHEMA}.staged"
# The column of partitions is a version's last.
STAGE = """{{ config(keep_unchanged=true, partition_by='name') }}
{%- set query -%}
with rows as (select * from {{ source('raw', 'rows') }})
select id, name, changed from (
    select
        try_cast(id as bigint) as id, name, changed,
        row_number() over (
            partition by try_cast(id as bigint) order by changed desc
        ) as place
    from rows
) as ranked
where place = 1 or id is null
{%- endset -%}
{%- if execute -%}
    {%- set key = 'try_cast(raw_rows.id as bigint)' -%}
    {% do adapter.note_key(model.unique_id, 'id', key, query) %}
{%- endif -%}
{{ query }}{{ ' limit 100' if var('limited', false) }}"""
MODELS = {
    "models/staged.sql": STAGE,
    "models/_models.yml": f"""
sources:
  - name: raw
    schema: {RAW}
    tables: [{{name: rows}}]
""",
}


class Table:
    """The project, its raw table, and the queries of its last run that copied rows."""

    def __init__(self, spark, dbt, project: Path) -> None:
        self.spark, self.dbt, self.project = spark, dbt, project

    def deliver(self, rows: str, how: str = "insert into") -> None:
        self.spark.sql(f"{how} {RAW}.rows values {rows}")

    def run(self, *arguments: str) -> list[tuple]:
        """Run the project and return what is staged."""
        result = self.dbt("run", *arguments, folder=self.project)
        assert result.success, result.exception or [r.message for r in result.result]
        return self.staged()

    def has_copied(self) -> bool:
        """Return whether the last run copied rows, by the statement that it sent."""
        sent = self.project / "target/run/plain/models/staged.sql"
        return "as of_new_rows\nunion all" in sent.read_text()

    def staged(self) -> list[tuple]:
        rows = self.spark.table(STAGED).select("id", "name", "changed")
        return sorted(map(tuple, rows.collect()), key=repr)

    def version(self) -> str:
        told = self.spark.sql(f"describe extended {STAGED}").collect()
        (text,) = (row[1] for row in told if row[0] == "View Text")
        return text.removeprefix("select * from ")


@pytest.fixture
def table(spark, dbt, product, tmp_path, monkeypatch):
    """The project after a run; its files count as settled and as many."""
    project = plain_project(tmp_path / "project", product, SCHEMA, MODELS)
    spark.sql(f"create schema {RAW}")
    spark.sql(
        f"create table {RAW}.rows (id string, name string, changed int) using parquet"
    )
    monkeypatch.setattr(raw_files, "SETTLED", -10 * raw_files.SETTLED)
    monkeypatch.setattr(appended, "LEAST", 0)
    monkeypatch.setattr(appended, "LEAST_SHARE", 1)
    table = Table(spark, dbt, project)
    table.deliver("('1', 'a', 1), ('2', 'b', 1), ('3', 'c', 1), ('x', 'd', 1)")
    table.run()
    yield table
    for schema in (RAW, SCHEMA, f"{SCHEMA}_versions"):
        spark.sql(f"drop schema {schema} cascade")


@pytest.mark.spark
def test_rows_without_a_new_delivery_are_copied(table):
    table.deliver("('02', 'B', 2), ('3', 'old', 0), ('4', 'e', 1), ('y', 'f', 1)")
    # Only a copied row shows that its version was changed by hand.
    spark, before = table.spark, table.version()
    spark.sql(f"insert into {before} values (5, 1, 'by hand')")
    of_whole = [
        *[(1, "a", 1), (2, "B", 2), (3, "c", 1), (4, "e", 1)],
        *[(None, "d", 1), (None, "f", 1)],
    ]
    assert table.run() == of_whole
    # A version with more rows than it was written with is no base.
    assert not table.has_copied()
    table.deliver("('1', 'A', 2), ('z', 'g', 1)")
    assert table.run() == [(1, "A", 2), *of_whole[1:], (None, "g", 1)]
    assert table.has_copied()
    assert table.run("--full-refresh") == table.staged()
    assert not table.has_copied()
    table.deliver("('6', 'h', 1)")
    # What is counted decides no row.
    spark.sql(f"analyze table {RAW}.rows compute statistics")
    assert (6, "h", 1) in table.run()
    assert table.has_copied()
    # The rows of a text with more in it depend on other keys, too.
    for name in "ij":
        table.deliver(f"('7', '{name}', {ord(name)})")
        assert (7, name, ord(name)) in table.run("--vars", "{limited: true}")
    assert not table.has_copied()


@pytest.mark.spark
def test_rows_are_not_copied_if_earlier_raw_rows_changed(table):
    """Files that went, were replaced, or came with an earlier time."""
    spark = table.spark
    table.deliver("('1', 'z', 9)", "insert overwrite")
    assert table.run() == [(1, "z", 9)]
    table.deliver("('2', 'y', 9)")
    files = [
        row[0]
        for row in spark.sql(f"select input_file_name() from {RAW}.rows").collect()
    ]
    assert len({*files}) == 2
    assert len(table.run()) == 2
    assert table.has_copied()
    file = Path(files[0].removeprefix("file:"))
    shutil.copy2(file, file.with_name("part-of-an-earlier-time.parquet"))
    table.run()
    assert not table.has_copied()
    # The text changes: its rows were made by another one.
    path = table.project / "models/staged.sql"
    path.write_text(
        STAGE.replace("name, changed from", "upper(name) as name, changed from")
    )
    table.deliver("('8', 'y', 9)")
    assert {row[1] for row in table.run()} <= {"Y", "Z"}
    assert not table.has_copied()


RELATION = f"{RAW}.rows"
QUOTED = f"`{RAW}`.rows"
CODE = f"select id, name from {RELATION}"
VERSION = f"{SCHEMA}_versions.staged__v20260101000000_0123abcd"
OF_SEED = f"{RAW}_versions.rows__v20260101000000_0123abcd"
MIB = 2**20
OLD = [RawFile(f"old {n}", 1_000 + n, 20 * MIB, "") for n in range(5)]
NEW = RawFile("new", 2_000, 5 * MIB, "")


class World:
    """A model whose version may be copied: its raw table has one file more."""

    def __init__(self) -> None:
        self.files, self.table, self.beside, self.code = (
            [*OLD, NEW],
            "t",
            "b" * 64,
            CODE,
        )
        then = RawFiles.of(OLD, self.table)
        self.noted = f"appended={self.beside}_{then.newest}_{then.digest}"
        self.node = {"unique_id": "staged", "name": "staged", "relation_name": STAGED}
        self.node["depends_on"] = {"nodes": ["rows"]}
        self.keys = {"staged": Key("id", "raw_rows.id", CODE)}
        self.has_its_rows, self.copied = True, {}
        self.columns, self.snapshots = ["name", "id", "id__mod_64"], None
        self.definitions = {STAGED: f"View Text: select * from {VERSION}"}

    def set_code(self, code: str) -> None:
        self.code = code
        self.keys["staged"] = self.keys["staged"]._replace(query=code)

    def query(self) -> str | None:
        published = Published(self.definitions, versions={VERSION: self.noted})
        run = SimpleNamespace(keys=self.keys, published=published, is_held=False)
        run.copied = self.copied
        files = {RELATION: RawFiles.of(self.files, self.table)}
        made = MadeOf("a" * 64, files, beside=self.beside)
        sources = {"rows": {"relation_name": QUOTED}, "other": {"relation_name": RAW}}
        graph = {"sources": sources, "nodes": {}}
        catalog = self.snapshots and "lake"
        credentials = SimpleNamespace(versions_catalog=catalog)
        adapter = SimpleNamespace(
            dbt_run=run,
            config=SimpleNamespace(credentials=credentials),
            snapshots_written=self.snapshots,
        )
        return appended.query_of_appended(adapter, graph, self.node, self.code, made)


WHOLE = {
    "no key": lambda w: w.keys.clear(),
    "nothing noted": lambda w: setattr(w, "noted", "made_of=" + "a" * 64),
    "another text, parent or engine": lambda w: setattr(w, "beside", "c" * 64),
    "another definition": lambda w: setattr(w, "table", "u"),
    "a file that went": lambda w: w.files.remove(OLD[0]),
    "a file in another's place": lambda w: w.files.__setitem__(
        0, OLD[0]._replace(written=1_999)
    ),
    "a file of another size": lambda w: w.files.__setitem__(0, OLD[0]._replace(size=1)),
    "a new file with an earlier time": lambda w: w.files.append(
        NEW._replace(path="late", written=1_004)
    ),
    "no new file": lambda w: w.files.remove(NEW),
    "many new rows": lambda w: w.files.append(NEW._replace(path="n", size=10 * MIB)),
    "few rows": lambda w: w.files.__setitem__(
        slice(None), [each._replace(size=100) for each in w.files]
    ),
    "a sample's raw table": lambda w: w.definitions.update(
        {RELATION: f"View Text: select * from {OF_SEED}"}
    ),
    "no version": lambda w: w.definitions.clear(),
    "a text without the raw table": lambda w: w.set_code("select 1 as id"),
    "more in the text": lambda w: setattr(w, "code", f"{CODE} limit 10"),
    "another raw table": lambda w: w.node["depends_on"]["nodes"].append("other"),
    "lost rows": lambda w: setattr(w, "has_its_rows", False),
}


@pytest.fixture
def world(monkeypatch) -> World:
    """A world whose version is there."""
    made = World()
    described = ([(name, "string") for name in made.columns], None)
    monkeypatch.setattr(appended, "columns_and_text", lambda *_: described)
    monkeypatch.setattr(appended, "has_its_rows", lambda *_: made.has_its_rows)
    return made


def test_a_version_is_copied_where_its_raw_table_has_a_file_more(world):
    query = " ".join(world.query().split())
    assert f"select * from {QUOTED} where _metadata" in query
    assert "timestamp_micros(1004)" in query
    assert f"from {QUOTED} as raw_rows" in query
    assert query.count(f"from {VERSION} as former") == 1


@pytest.mark.parametrize("edit", WHOLE)
def test_in_any_doubt_all_rows_are_read(edit, world):
    WHOLE[edit](world)
    assert world.query() is None


def test_columns_are_named_and_a_folder_s_is_not_copied(world):
    world.definitions[STAGED] = (
        f"View Text: select * except (`id__mod_64`) from {VERSION}"
    )
    query = world.query()
    assert query.startswith("select `name`, `id` from (")
    assert f"former.`name`, former.`id`\nfrom {VERSION} as former" in query
    assert "id__mod_64" not in query


def test_a_version_in_iceberg_is_copied_as_it_was_written(world):
    world.snapshots = {VERSION: 7}
    assert f"from {VERSION} version as of 7 as former" in world.query()


@pytest.mark.parametrize(
    ("files", "is_refused"),
    [
        ([*OLD, NEW], False),
        ([*OLD, NEW, NEW._replace(path="newer", written=3_000)], False),
        ([*OLD[1:], NEW], True),
        ([NEW], True),
        (None, True),
    ],
)
def test_a_copy_is_not_published_if_raw_rows_went_while_it_was_written(
    files, is_refused, world, monkeypatch
):
    assert world.query()
    run = SimpleNamespace(copied=world.copied, is_held=False)
    now = files and {RELATION: RawFiles.of(files, world.table)}
    monkeypatch.setattr(unchanged, "files_of_sources", lambda *_: now)
    given = (SimpleNamespace(dbt_run=run), {}, world.node, VERSION)
    made = MadeOf("a" * 64, {RELATION: RawFiles.of(OLD, "another")})
    if is_refused:
        with pytest.raises(DbtRuntimeError, match="its raw table was replaced while"):
            unchanged.properties_of_made(*given, made)
    else:
        assert unchanged.properties_of_made(*given, made) == []
    assert not world.copied
