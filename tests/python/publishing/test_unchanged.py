"""A version stays where all that its rows come from is as it was, and nowhere else."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt.adapters.secure_spark.impl import SecureSparkAdapter
from dbt_common.exceptions import DbtRuntimeError
from metastore_double import RememberedMetastore
from rendering import Macros
from small_project import plain_project

from dbt_secure_spark import raw_files, unchanged, versions
from dbt_secure_spark import run as run_module
from dbt_secure_spark.folders import Folders
from dbt_secure_spark.in_time import NOW, InTime
from dbt_secure_spark.raw_tables import has_changed
from dbt_secure_spark.run import Run
from dbt_secure_spark.versions import (
    Published,
    RawRead,
    began,
    encoded,
    found_again,
    raw_reads,
)
from dbt_secure_spark.warehouse import PROPERTY

needs_spark = pytest.mark.spark
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
    tables: [{{name: rows}}]
""",
    "models/_secured.yml": """
models:
  - name: secured
    config: {contract: {enforced: true}}
    columns:
      - {name: name, data_type: string}
      - {name: number, data_type: bigint}
""",
}
VERSION = f"{SCHEMA}_versions.codes__v20260101000000_0123abcd"
NEWER = VERSION.replace("20260101", "20260102")


@pytest.fixture(scope="module")
def asked(spark, dbt, product, tmp_path_factory):
    """Run the project: `asked("--select", ...)` gives the version that is published."""
    folder = tmp_path_factory.mktemp("unchanged") / "project"
    seeds = {"seeds/codes.csv": "code,meaning\na,first\n"}
    project = plain_project(folder, product, SCHEMA, MODELS | seeds)
    spark.sql(f"create schema {RAW}")
    write(spark, "(1, 'x', 'a'), (2, 'y', 'b')")

    def ask(*arguments: str, command: str = "run") -> str:
        result = dbt(command, *arguments, folder=project)
        assert result.success, result.exception or [r.message for r in result.result]
        return version(spark)

    ask.project = project
    ask(command="build")
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


# ---------------------------------------------------------------------------
# What a version is made of
# ---------------------------------------------------------------------------

CODE = STAGE.split("}}", 1)[1].replace("{{ source('raw', 'rows') }}", f"{RAW}.rows")
CODE = CODE.replace("{{ ref('codes') }}", f"{SCHEMA}.codes")


class World:
    """A staged model over a raw table and a seed, and a run that stages it."""

    def __init__(self) -> None:
        self.metastore = RememberedMetastore(SCHEMA)
        self.code, self.folders, self.reads = CODE, None, []
        self.read = RawRead("raw.rows", "20260101000000_0123abcd", 2, 7)
        self.node = {
            **{"name": "staged", "unique_id": "staged", "relation_name": STAGED},
            **{"schema": SCHEMA, "alias": "staged", "resource_type": "model"},
            **{"language": "sql", "columns": {}, "description": ""},
            "depends_on": {"nodes": ["rows", "codes"]},
            "config": {"materialized": "published_view", "keep_unchanged": True},
        }
        codes = {
            **{"name": "codes", "unique_id": "codes", "resource_type": "seed"},
            **{"relation_name": f"{SCHEMA}.codes", "depends_on": {"nodes": []}},
            **{"schema": SCHEMA, "alias": "codes"},
            "config": {"materialized": "seed"},
        }
        rows = {"relation_name": f"{RAW}.rows", "source_name": "raw", "name": "rows"}
        rows |= {"resource_type": "source", "unique_id": "rows"}
        rows |= {"loaded_at_field": None}
        nodes = {"staged": self.node, "codes": codes}
        self.graph = {"nodes": nodes, "sources": {"rows": rows}}
        self.publish_codes(VERSION)

    def publish_codes(self, of_codes: str, in_time: InTime | None = None) -> None:
        """Let the seed show a version, or those of its rows that hold now."""
        text = f"select * from {of_codes}"
        if in_time:
            text = in_time.published_rows(of_codes)
        self.metastore.texts[SCHEMA, "codes"] = text

    @property
    def shown(self) -> str:
        """The listed definition of the seed."""
        text = self.metastore.texts[SCHEMA, "codes"]
        return f"View Text: {text}\nTable Properties: [kept_versions=none]"

    @property
    def begun(self) -> dict:
        """What begin_version() knows by then."""
        return {"raw": self.reads or [self.read], "folders": self.folders}

    def made_of(self) -> str | None:
        """Return the digest of what the next version is made of."""
        run = Run(self.metastore, "run", 20, *[[SCHEMA]] * 3)
        run.published.definitions[f"{SCHEMA}.codes"] = self.shown
        self.metastore.dbt_run = run
        made = unchanged.made_of(
            self.metastore, self.graph, self.node, self.code, self.begun, {}
        )
        return made and made.digest


def edit_setting(world: World) -> None:
    """Set what Spark reads the same rows by."""
    world.metastore.settings["spark.sql.session.timeZone"] = "Asia/Tokyo"


EDITS = {
    "the query": lambda w: setattr(w, "code", CODE + " where raw.id > 0"),
    "the config": lambda w: w.node["config"].update(cluster_by=["id"]),
    "a column's documentation": lambda w: w.node["columns"].update(id={"x": 1}),
    "the description": lambda w: w.node.update(description="One row."),
    "the seed": lambda w: w.publish_codes(NEWER),
    "a setting": edit_setting,
    "the machine's zone": lambda w: setattr(w.metastore, "spark", ("4.0.0", "CET")),
    "Spark": lambda w: setattr(w.metastore, "spark", ("4.0.1", "UTC")),
    "the product": lambda w: setattr(w.metastore, "version", "1.0.1"),
    "the raw rows": lambda w: setattr(w, "read", replace(w.read, content=8)),
    "its folders": lambda w: setattr(w, "folders", Folders("id", 64)),
    "their number": lambda w: setattr(w, "read", replace(w.read, rows=3)),
}


@pytest.mark.parametrize("edit", EDITS)
def test_whatever_decides_the_rows_decides_whether_a_version_stays(edit):
    world = World()
    before = world.made_of()
    # Another run that reads the same.
    world.read = replace(world.read, run="20260102000000_0123abcd")
    assert world.made_of() == before is not None
    EDITS[edit](world)
    assert world.made_of() not in (before, None)


class WithViews(World):
    """The staged model reads two views, too."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("known", "denied"):
            self.graph["nodes"][name] = {
                **{"name": name, "unique_id": name, "resource_type": "model"},
                **{"schema": SCHEMA, "alias": name, "language": "sql"},
                **{"relation_name": f"{SCHEMA}.{name}", "depends_on": {"nodes": []}},
                "config": {"materialized": "view"},
            }
            self.node["depends_on"]["nodes"].append(name)
            self.code += f" inner join {SCHEMA}.{name} as {name} on true"

    def made_with(
        self, known: str, denied: str = f"select * from {VERSION}"
    ) -> str | None:
        """Return what the version is made of, where the views have these texts."""
        self.metastore.texts[SCHEMA, "known"] = known
        self.metastore.texts[SCHEMA, "denied"] = denied
        return self.made_of()


def test_a_view_over_versions_alone_is_a_parent_by_its_text():
    world = WithViews()
    rule = f"select * from {VERSION} where code = 'a'"
    before = world.made_with(rule)
    assert world.made_with(rule) == before is not None
    for other in (rule.replace(VERSION, NEWER), rule.replace("'a'", "'b'")):
        assert world.made_with(other) not in (before, None)
    # Two views may trade their texts.
    assert world.made_with(f"select * from {VERSION}", rule) not in (before, None)
    for text in (
        f"select * from {SCHEMA}.codes",
        f"select * from {VERSION} inner join {RAW}.rows on true",
        f"select * from {VERSION} where seen < current_date()",
        f"select * from {VERSION} where seen < cast('to' 'day' as date)",
        f"select * from {VERSION} where cleared(code)",
        f"select * from {VERSION} where",
    ):
        assert world.made_with(text) is None, text


def test_a_view_that_moves_while_a_version_is_written_leaves_nothing_noted():
    world, version = WithViews(), f"{SCHEMA}_versions.staged__v1"
    rule = f"select * from {VERSION} where code = 'a'"
    world.metastore.raw[f"{RAW}.rows"] = 1
    world.made_with(rule)
    given = (world.metastore, world.graph, world.node)
    made = unchanged.made_of(*given, world.code, world.begun, {})
    for text, is_noted in ((f"select * from {VERSION}", False), (rule, True)):
        world.metastore.texts[SCHEMA, "known"] = text
        made = replace(made, files=unchanged.files_of_sources(*given))
        noted = unchanged.properties_of_made(*given, version, made)
        assert any("made_of" in each for each in noted) == is_noted


def test_what_reads_the_day_alone_of_the_clock_stays_until_the_day_ends():
    world = World()
    # As in a model, where a line ends within it.
    day = unchanged.DAY_OF_CLOCK.replace(" div", "\n            div")
    world.code = CODE + f" where raw.id < {day}"
    before = world.made_of()
    assert world.made_of() == before is not None
    world.metastore.day += 1
    assert world.made_of() not in (before, None)
    for clock in ("current_timestamp()", "unix_micros(current_timestamp())", "now()"):
        world.code = CODE + f" where raw.id < {day} and raw.id < {clock}"
        assert world.made_of() is None, clock
    # Nothing beside the day is hidden with it.
    world.code = CODE + f" where raw.id < rand{day}"
    assert world.made_of() is None


def test_the_day_is_the_one_that_the_product_writes():
    written = Macros("").utc_day("current_timestamp()")
    assert "current_timestamp" not in unchanged.READS_THE_DAY.sub(
        unchanged.A_DAY, written
    )


def test_sources_of_two_projects_by_one_name_may_not_trade_their_rows():
    world = World()
    other = world.graph["sources"]["rows"] | {"unique_id": "others"}
    world.graph["sources"]["others"] = other | {"relation_name": "their_raw.rows"}
    world.node["depends_on"]["nodes"].append("others")
    world.code = CODE + " cross join their_raw.rows as others"
    reads = [world.read, replace(world.read, content=8)]
    found = []
    for raw in (reads, reads, reads[::-1]):
        world.reads = raw
        found.append(world.made_of())
    assert found[0] == found[1] != found[2]
    assert None not in found


@pytest.mark.parametrize(
    "spelled",
    [
        f"`{SCHEMA}`.`codes`",
        f"{SCHEMA} . codes",
        f"/* was: /* left */ don't */ {SCHEMA}.codes",
    ],
)
def test_a_parent_in_another_spelling_counts(spelled):
    world = World()
    world.code = CODE.replace(f"{SCHEMA}.codes", f"{spelled} /* {SCHEMA}.codes */")
    before = world.made_of()
    assert world.made_of() == before is not None
    world.publish_codes(NEWER)
    assert world.made_of() not in (before, None)


def unknown_rows(world: World) -> None:
    """Read a raw table that does not tell what it holds."""
    world.read = replace(world.read, content=None)


NOT_KNOWN = {
    "a header": lambda w: w.node["config"].update(sql_header="declare day = 1"),
    "a hook": lambda w: w.node["config"].update({"pre-hook": [{"sql": "set x = 1"}]}),
    "a parent with a column less": lambda w: w.metastore.texts.update(
        {(SCHEMA, "codes"): f"select * except (`code`) from {VERSION}"}
    ),
    "a schema of the session": lambda w: setattr(
        w, "code", CODE.replace("raw.name", "current_path() as name")
    ),
    "rows that are not told": unknown_rows,
    "a table of its own": lambda w: setattr(w, "code", f"{CODE} cross join other.t"),
    "rows that hold for a time": lambda w: w.publish_codes(VERSION, InTime(None, NOW)),
    "flags that hold for a time": lambda w: w.publish_codes(
        VERSION, InTime("is_live", NOW)
    ),
    "a version by its name": lambda w: setattr(w, "code", f"{CODE}, {VERSION}"),
    "a seed that shows something else": lambda w: w.metastore.texts.update(
        {(SCHEMA, "codes"): f"select * from {VERSION} limit 1"}
    ),
}


@pytest.mark.parametrize("edit", NOT_KNOWN)
def test_what_is_not_known_is_made_anew(edit):
    world = World()
    NOT_KNOWN[edit](world)
    assert world.made_of() is None


@pytest.mark.parametrize("seconds_before", [30, 90])
def test_a_version_that_was_written_beside_a_raw_table_is_not_noted(
    monkeypatch, seconds_before
):
    run = "20260101000000_0123abcd"
    adapter = SimpleNamespace(
        dbt_run=SimpleNamespace(name=run, is_held=False, copied={})
    )
    monkeypatch.setattr(unchanged, "rows_with_snapshot", lambda *_: 2)
    world, table = World(), f"{RAW}.rows"
    of_then = raw_files.RawFiles("f1", began(run) - seconds_before * 1_000_000)
    made = unchanged.MadeOf("a" * 64, {table: of_then}, (world.read,))
    given = (adapter, world.graph, world.node, VERSION)
    for files in ({table: of_then._replace(digest="f2")}, None):
        monkeypatch.setattr(unchanged, "files_of_sources", lambda *_, f=files: f)
        assert unchanged.properties_of_made(*given, made) == []
    monkeypatch.setattr(unchanged, "files_of_sources", lambda *_: made.files)
    assert unchanged.properties_of_made(*given, None) == []
    # In files that were new then, others with the same time may lie soon.
    of_files = f"'raw_files' = '{encoded(f'f1:{world.read}')}'"
    assert unchanged.properties_of_made(*given, made) == [
        f"'made_of' = '{made.digest}_2'",
        *([of_files] if seconds_before > 60 else []),
    ]


@pytest.mark.parametrize(
    ("files", "is_read"),
    [
        ({f"{RAW}.rows": raw_files.RawFiles("f1", 0)}, False),
        ({f"{RAW}.rows": raw_files.RawFiles("f2", 0)}, True),
        # Nothing says in which files it lies, or a run asks for everything anew.
        (None, True),
    ],
)
def test_a_raw_table_in_the_same_files_is_not_read_for_what_it_holds(
    files, is_read, monkeypatch
):
    world = World()
    before = replace(world.read, newest=5)
    # A run of one model alone may have read the table before, and found other rows.
    others = [replace(before, content=content) for content in range(4)]
    version = f"{SCHEMA}_versions.staged__v1_2"
    told = (
        f"raw_reads={encoded(' '.join(map(str, [*others, before])))},"
        f"raw_files={encoded(f'f1:{before}')}, made_of={'a' * 64}_2]"
    )
    of_now = replace(world.read, run="now", content=9)
    monkeypatch.setattr(raw_files, "read_raw", lambda *_: of_now)
    run = Run(world.metastore, "now", 20, *[[SCHEMA]] * 3)
    run.published.versions[version] = told
    world.metastore.dbt_run = run
    monkeypatch.setattr(unchanged, "option_to_read_some_rows", lambda: None)
    given = (world.metastore, world.graph, world.node)
    reads = unchanged.read_raw_tables(*given, files)
    assert reads == [of_now if is_read else replace(before, run="now")]


@pytest.mark.parametrize(
    ("seconds_before", "is_full_refresh", "times"),
    [(30, False, 2), (90, False, 1), (90, True, 2)],
)
def test_a_second_look_at_a_raw_table_reads_its_rows_only_if_its_files_are_new(
    monkeypatch, seconds_before, is_full_refresh, times
):
    flags = SimpleNamespace(FULL_REFRESH=is_full_refresh)
    monkeypatch.setattr(run_module, "get_flags", lambda: flags)
    world, name = World(), "20260101000000_0123abcd"
    metastore, source = world.metastore, world.graph["sources"]["rows"]
    table, written = f"{RAW}.rows", began(name) - seconds_before * 1_000_000
    metastore.raw[table], metastore.files[table] = 2, (1, written)
    for file, has_other_rows in ((1, False), (2, True)):
        run = metastore.dbt_run = Run(metastore, name, 20, *[[SCHEMA]] * 3)
        of_files = raw_files.files_of(run, source)
        then = raw_files.read_unless_known(run, source, of_files, name)
        metastore.raw[table], metastore.files[table] = 1 + file, (file, written)
        metastore.sent.clear()
        for _ in range(2):
            run.look_up(world.graph, {"raw.rows"})
        assert has_changed(then, run.now["raw.rows"]) == has_other_rows
        read = sum("bit_xor" in statement for statement in metastore.sent)
        assert read == (times - 1 or file - 1)


STAYS = f"{SCHEMA}_versions.staged__v20260101000000_0123abcd"
WHOLE = f"select * from {STAYS}"
PAST = InTime(None, "timestamp '2026-01-01 00:00:00Z'")


@pytest.mark.parametrize(
    ("shape", "text", "is_kept"),
    [
        (None, WHOLE, True),
        (None, f"{WHOLE} limit 1", False),
        (None, WHOLE.replace("*", "* except (`user_id`)"), False),
        (Folders("id", 64), WHOLE.replace("*", "* except (`id__mod_64`)"), True),
        (Folders("id", 64), WHOLE.replace("*", "* except (`id__mod_32`)"), False),
        (InTime(None, NOW), InTime(None, NOW), True),
        # By a clock that stands still, a right that has ended would still be shown.
        (InTime(None, NOW), PAST, False),
        (InTime(None, NOW), InTime("is_live", NOW), False),
        (InTime(None, NOW), WHOLE, False),
        (
            InTime(None, NOW),
            f"{InTime(None, NOW).published_rows(STAYS)} and id > 0",
            False,
        ),
    ],
)
def test_a_version_stays_only_if_its_view_is_what_this_run_would_make(
    shape, text, is_kept
):
    world = World()
    if isinstance(text, InTime):
        text = text.published_rows(STAYS)
    world.folders = shape if isinstance(shape, Folders) else None
    made = unchanged.MadeOf(world.made_of(), {})
    published = world.metastore.dbt_run.published
    published.versions[STAYS] = f"Table Properties: [made_of={made.digest}_1]"
    published.definitions[STAGED] = told = f"View Text: {text}\nType: VIEW"
    in_time = shape if isinstance(shape, InTime) else None
    begun = world.begun | {"in_time": in_time, "made_of": made, "definition": told}
    kept = unchanged.version_to_keep(world.metastore, world.graph, world.node, begun)
    assert kept == (STAYS if is_kept else None)


def test_what_a_version_that_stays_was_made_of_is_asked_for_once_a_run():
    world = World()
    world.made_of()
    seed = world.graph["nodes"]["codes"]
    metastore, run = world.metastore, world.metastore.dbt_run
    metastore.sent.clear()
    for _ in range(2):
        assert raw_files.shows(run, seed, VERSION)
        assert raw_files.noted_readings(run) == {}
    # It was read when the inputs were asked for.
    assert not metastore.sent
    # Other threads may have asked before the switch.
    metastore.texts[SCHEMA, "codes"] = f"select * from {NEWER}"
    assert raw_files.shows(run, seed, VERSION)
    run.switched[f"{SCHEMA}.codes"] = f"select * from {NEWER}"
    assert raw_files.shows(run, seed, NEWER)
    assert not raw_files.shows(run, seed, VERSION)


def test_no_description_says_what_a_version_was_made_of():
    said = f"made_of={'a' * 64}_2, raw_files={encoded('f1:raw.rows:now:1:2:3')}"
    assert versions.MADE_OF.search(said)
    assert versions.raw_files(said)
    told = versions.comment(None, said)
    assert not versions.MADE_OF.search(told)
    assert not versions.raw_files(told)


class PythonWorld(World):
    """The same, staged by a Python model."""

    def __init__(self) -> None:
        super().__init__()
        self.node["language"] = "python"
        self.node["config"]["submission_method"] = "session"
        self.code = '''"""Reads the clock, as now() does: no."""
from pyspark.sql import functions as F


def model(dbt, session):
    rows, codes = dbt.source("raw", "rows"), dbt.ref("codes")
    return rows.join(codes, how="left", on="code").where(F.col("kind") == "User")
'''
        self.node["raw_code"] = self.code

    def edit(self, before: str, after: str) -> None:
        """Edit the code."""
        assert before in self.code
        self.code = self.node["raw_code"] = self.code.replace(before, after)


LIBRARIES = ("duckdb", "networkx", "os", "pandas", "pyarrow.parquet", "requests")
PYTHON_EDITS = {
    "the code": lambda w: w.edit("left", "inner"),
    "the seed": lambda w: w.publish_codes(NEWER),
    "the raw rows": lambda w: setattr(w, "read", replace(w.read, content=8)),
    "Spark": lambda w: setattr(w.metastore, "spark", ("4.0.1", "UTC")),
}


def test_a_python_model_stays_by_rows_in_time_where_it_reads_them_whole():
    world = PythonWorld()
    codes = world.graph["nodes"]["codes"]
    world.publish_codes(VERSION, InTime(None, NOW))
    assert world.made_of() is None
    for node in (codes, world.node):
        node["config"]["in_time"] = True
    codes["config"]["in_time"] = "is_live"
    world.publish_codes(VERSION, InTime("is_live", NOW))
    assert world.made_of() is not None


@pytest.mark.parametrize("edit", PYTHON_EDITS)
def test_whatever_decides_a_python_model_s_rows_decides_whether_it_stays(edit):
    world = PythonWorld()
    before = world.made_of()
    assert world.made_of() == before is not None
    PYTHON_EDITS[edit](world)
    assert world.made_of() not in (before, None)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('F.col("kind") == "User"', "F.rand() > 0"),
        ('F.col("kind") == "User"', 'F.expr("seen < current_date()")'),
        ('F.col("kind") == "User"', "\"cast('today' as date) > seen\""),
        ('F.col("kind") == "User"', 'F.expr("ops.cleared(kind)")'),
        ('F.col("kind") == "User"', 'F.call_function("ops.cleared")'),
        ("return rows", "return rows.sample(0.5)"),
        ("return rows", "return rows.randomSplit([1.0, 1.0])[0]"),
        ('"left"', 'session.conf.get("my.join")'),
        ('"left"', "str(hash(codes))"),
        ("from pyspark", "import random\nfrom pyspark"),
        (
            "from pyspark",
            "import datetime\nTHEN = datetime.datetime.utcnow()\nfrom pyspark",
        ),
        ("from pyspark", "from datetime import date\nDAY = date.today()\nfrom pyspark"),
        ('dbt.ref("codes")', 'session.table("other.t")'),
        ('dbt.ref("codes")', f'session.table("{VERSION}")'),
        # What reads past dbt.
        ("from pyspark", "import secure_datasets\nfrom pyspark"),
        ("from pyspark", "from . import codes\nfrom pyspark"),
        *(("from pyspark", f"import {name}\nfrom pyspark") for name in LIBRARIES),
        ('dbt.ref("codes")', 'getattr(session, "table")("other.t")'),
        ('dbt.ref("codes")', 'session.read.parquet("/codes")'),
        ('dbt.ref("codes")', 'rows.sparkSession.sql("select * from csv.`/codes`")'),
        ('dbt.ref("codes")', 'session.createDataFrame(open("codes").readlines())'),
        ('dbt.ref("codes")', '__builtins__["open"]("codes")'),
        ('dbt.ref("codes")', '(lambda: 0).__globals__["codes"]'),
        ('dbt.ref("codes")', 'rows.rdd.pipe("cat codes").toDF()'),
    ],
)
def test_a_python_model_that_may_vary_is_made_anew(before, after):
    world = PythonWorld()
    world.edit(before, after)
    assert world.made_of() is None


# ---------------------------------------------------------------------------
# What Spark tells
# ---------------------------------------------------------------------------


def adapter_of(spark) -> SimpleNamespace:
    """Stands for dbt's adapter in a run that has published nothing."""

    def execute(query: str, fetch: bool = False):
        try:
            rows = [tuple(row) for row in spark.sql(query).collect()]
        except Exception as failure:
            raise DbtRuntimeError(str(failure)) from failure
        return None, SimpleNamespace(rows=rows)

    published, texts = Published(), {}
    run = SimpleNamespace(published=published, is_held=False, functions={}, texts=texts)
    run.switched, run.untested, run.kept = {}, {}, {}
    run.text_of = partial(Run.text_of, run)
    run.engine = ["Spark"]
    own = SimpleNamespace(credentials=SimpleNamespace(versions_catalog=None))
    run.adapter = SimpleNamespace(execute=execute, config=own, dbt_run=run)
    return run.adapter


@pytest.mark.nightly
@needs_spark
def test_a_query_may_vary_by_what_it_calls_and_no_word_of_sql_is_a_function(
    spark, asked
):
    adapter = adapter_of(spark)
    spark.sql(
        f"create or replace function {SCHEMA}.cleared(l string) returns boolean"
        " return l in ('a', 'b')"
    )

    def may_vary(rest: str) -> bool:
        code = f"select raw.id from {RAW}.rows as raw {rest}"
        return unchanged.may_vary(adapter, {"name": "staged"}, code)

    for condition in (
        f"{SCHEMA}.cleared(raw.code)",
        "current_date > date'2020-01-01'",
        "now() > timestamp'2020-01-01'",
        "cast('today' as date) > date'2020-01-01'",
        "rand() >= 0",
    ):
        assert may_vary(f"where {condition}"), condition
    assert not may_vary(
        "inner join (values ('x')) as a (b) on true"
        " where raw.id in (1, 2) and (not (false)"
        " or (case when (true) then (raw.id) end between (1) and (2)))"
        " and upper(raw.name) like ('%') and exists (select 1)"
    )


@needs_spark
def test_what_was_written_to_a_raw_table_is_told_by_its_files(spark):
    relation, adapter = "kept_files", adapter_of(spark)
    source = {"relation_name": relation}

    def make(kind: str, using: str, query: str = "select 1 as id") -> str | None:
        spark.sql(f"drop table if exists {relation}")
        spark.sql(f"create {kind} {relation} {using} as {query}")
        return raw_files.files_of(adapter.dbt_run, source)

    try:
        first = make("table", "using parquet")
        assert first is not None
        assert raw_files.files_of(adapter.dbt_run, source) == first
        spark.sql("create table kept_others using parquet as select 1 as id")
        # The same rows, taken away and put back.
        spark.sql(f"insert overwrite {relation} select * from kept_others")
        assert raw_files.files_of(adapter.dbt_run, source) not in (first, None)
        # Of no row no file is told, nor of what lies in no files of Spark's.
        spark.sql(f"truncate table {relation}")
        assert raw_files.files_of(adapter.dbt_run, source) is None
        assert make("table", "stored as textfile") is None
        spark.sql(f"drop table {relation}")
        spark.sql(f"create view {relation} as select * from kept_others")
        assert raw_files.files_of(adapter.dbt_run, source) is None
        spark.sql(f"drop view {relation}")
    finally:
        spark.sql("drop table if exists kept_others")


@needs_spark
def test_a_seed_s_files_tell_of_it_only_while_its_view_shows_all_their_rows(spark):
    seed, adapter = {"relation_name": "kept.seed"}, adapter_of(spark)
    of_seed = "kept_versions.seed__v20260101000000_0123abcd"
    definitions = adapter.dbt_run.published.definitions

    def show(kind: str, query: str) -> None:
        """Let the seed's view show a query, as the next run lists it."""
        spark.sql(f"{kind} view kept.seed as {query}")
        definitions["kept.seed"] = f"View Text: {query}"

    for schema in ("kept", "kept_versions"):
        spark.sql(f"create schema {schema}")
    try:
        spark.sql(f"create table {of_seed} using parquet as select 1 as id")
        show("create", f"select * from {of_seed}")
        first = raw_files.files_of(adapter.dbt_run, seed)
        assert first is not None
        spark.sql(f"insert into {of_seed} values (2)")
        assert raw_files.files_of(adapter.dbt_run, seed) not in (first, None)
        show("alter", f"select * from {of_seed} where id = 1")
        assert raw_files.files_of(adapter.dbt_run, seed) is None
        show("alter", f"select * from {of_seed}")
        assert raw_files.files_of(adapter.dbt_run, seed) not in (first, None)
        in_time = InTime(None, NOW).published_rows(of_seed)
        definitions["kept.seed"] = f"View Text: {in_time}"
        assert raw_files.files_of(adapter.dbt_run, seed) is None
    finally:
        for schema in ("kept", "kept_versions"):
            spark.sql(f"drop schema {schema} cascade")


@needs_spark
def test_the_same_files_with_another_value_of_their_folder_are_others(spark, tmp_path):
    relation, adapter = "kept_folders", adapter_of(spark)
    place = f"{tmp_path}/rows/day=1"
    # As everywhere but in these tests.
    setting = "spark.sql.hive.manageFilesourcePartitions"
    before = spark.conf.get(setting)
    spark.conf.set(setting, "true")
    spark.sql(
        f"create table {relation} (id int, day int) using parquet"
        f" partitioned by (day) location '{tmp_path}/rows'"
    )
    try:
        spark.sql(f"insert into {relation} values (1, 1)")
        first = raw_files.files_of(adapter.dbt_run, {"relation_name": relation})
        assert first == raw_files.files_of(adapter.dbt_run, {"relation_name": relation})
        spark.sql(f"alter table {relation} drop partition (day = 1)")
        spark.sql(f"alter table {relation} add partition (day = 2) location '{place}'")
        assert [tuple(row) for row in spark.table(relation).collect()] == [(1, 2)]
        second = raw_files.files_of(adapter.dbt_run, {"relation_name": relation})
        assert second not in (first, None)
    finally:
        spark.sql(f"drop table {relation}")
        spark.conf.set(setting, before)


@needs_spark
def test_a_version_that_has_lost_rows_or_has_a_damaged_file_is_not_whole(
    spark, tmp_path
):
    relation, adapter = "kept_whole", adapter_of(spark)
    spark.sql(f"create table {relation} using parquet as select 1 as id")
    try:
        assert unchanged.is_whole(adapter, relation, 1)
        assert not unchanged.is_whole(adapter, relation, 2)
        file = Path(spark.table(relation).inputFiles()[0].removeprefix("file:"))
        rows = file.read_bytes()
        # As a disk leaves it, with no sum beside it that tells.
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
        file.write_bytes(rows[:100])
        spark.sql(f"refresh table {relation}")
        assert not unchanged.is_whole(adapter, relation, 1)
        file.write_bytes(rows)
        spark.sql(f"refresh table {relation}")
        assert unchanged.is_whole(adapter, relation, 1)
        shutil.move(file, tmp_path / "away")
        spark.sql(f"refresh table {relation}")
        assert not unchanged.is_whole(adapter, relation, 1)
    finally:
        spark.sql(f"drop table {relation}")


# ---------------------------------------------------------------------------
# Runs
# ---------------------------------------------------------------------------


@needs_spark
def test_a_version_stays_and_is_read_from_what_the_raw_tables_hold_now(spark, asked):
    first = version(spark)
    read = property_of(spark, first, "raw_reads")
    of_all = version(spark, "of_all")
    # Equal rows in other files, in another order.
    write(spark, "(2, 'y', 'b'), (1, 'x', 'a')")
    assert asked() == first
    # What comes from nothing but what stays, stays.
    assert version(spark, "of_all") == of_all
    # What it was read from is noted anew with all versions of its schema.
    assert property_of(spark, first, "raw_reads") == read
    (noted,) = raw_reads(f"raw_reads={read}]")
    told = spark.sql(f"describe schema extended {SCHEMA}_versions").collect()
    found = found_again(
        dict(PROPERTY.findall(dict(map(tuple, told))["Properties"]))["found_again"]
    )
    assert max(run for run in found if noted.found in found[run]) > noted.run
    assert names(spark) == ["x", "y"]
    assert spark.table(f"{SCHEMA}.secured").count() == 2

    write(spark, "(1, 'x', 'b'), (2, 'z', null)")
    assert asked() != first
    assert version(spark, "of_all") != of_all
    assert names(spark) == ["x", "z"]

    seed = asked.project / "seeds/codes.csv"
    seed.write_text(seed.read_text() + "b,second\n")
    before = version(spark)
    assert asked("--select", "codes", "staged", command="build") != before
    assert {row.meaning for row in spark.table(STAGED).collect()} >= {"second"}


@needs_spark
def test_a_view_is_checked_against_its_contract_once(spark, asked, dbt, monkeypatch):
    questions, ask = [], SecureSparkAdapter.get_column_schema_from_query
    monkeypatch.setattr(
        SecureSparkAdapter,
        "get_column_schema_from_query",
        lambda adapter, sql: questions.append(sql) or ask(adapter, sql),
    )
    asked("--full-refresh")
    assert len(questions) == 2
    asked()
    assert len(questions) == 2
    contract = asked.project / "models/_secured.yml"
    whole = contract.read_text()
    contract.write_text(whole.replace("bigint", "string"))
    for _ in range(2):
        assert not dbt("run", "--select", "secured", folder=asked.project).success
    assert len(questions) == 6
    contract.write_text(whole)
    asked("--select", "secured")
    assert len(questions) == 6


@pytest.mark.nightly
@needs_spark
def test_what_somebody_has_altered_or_lost_is_put_right(spark, asked, tmp_path):
    of_now = version(spark)
    rows = names(spark)
    spark.sql(
        f"alter view {STAGED} as select * from {of_now}"
        f" union all select 9, 'theirs', null from {of_now}"
    )
    assert "theirs" in names(spark)
    of_next = asked("--select", "staged")
    assert of_next != of_now
    assert names(spark) == rows
    for number, file in enumerate(spark.table(of_next).inputFiles()):
        shutil.move(file.removeprefix("file:"), tmp_path / f"away {number}")
    spark.sql(f"refresh table {of_next}")
    assert names(spark) == []
    written_anew = asked("--select", "staged")
    assert written_anew != of_next
    assert names(spark) == rows
    assert asked("--select", "staged") == written_anew
    assert asked("--full-refresh", "--select", "staged") != written_anew


@pytest.fixture
def query(asked):
    """Put another query in the place of the staged one's, until the test ends."""
    path = asked.project / "models/staged.sql"
    before = path.read_text()
    yield path.write_text
    path.write_text(before)


@needs_spark
@pytest.mark.nightly
def test_rows_that_were_away_while_the_version_was_written_come_back(
    spark, asked, query, monkeypatch
):
    """Rows are taken away after the run has looked at the raw table, and put back."""
    left = "id = 1"
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


@needs_spark
@pytest.mark.nightly
def test_what_a_pre_hook_writes_into_a_raw_table_is_staged(spark, asked, query):
    write(spark, "(1, 'x', 'a')")
    hook = f"insert into {RAW}.rows values (2, 'y', 'b')"
    query(STAGE.replace("true", f'true, pre_hook="{hook}"', 1))
    asked()
    assert names(spark) == ["x", "y"]
    asked()
    assert names(spark) == ["x", "y", "y"]
    write(spark, "(1, 'x', 'a'), (2, 'y', 'b')")


@needs_spark
@pytest.mark.nightly
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
