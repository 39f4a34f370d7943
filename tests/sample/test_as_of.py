"""A past state is what the deliveries until then make, in schemas of its own."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shlex
import shutil
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from compiled import COMPILED_AS_OF, as_of, compile_models
from dbt.include.secure_spark import PACKAGE_PATH
from dbt_common.exceptions import CompilationError
from jinja2 import Environment, UndefinedError
from oracle.contract import (
    TABLES,
    World,
    delivered_until,
    evaluate,
    load_time,
)
from pipeline import SESSIONS, Pipeline, session_settings
from projects import ROOT
from pyspark.sql import DataFrame
from sample_history import ACCESS_VIEWS, expected_access, sample
from worlds import batch

from dbt_secure_spark import moments
from dbt_secure_spark.moments import now
from dbt_secure_spark.settings import (
    as_of_text,
    check_as_of,
    check_vars,
    schema_name,
)
from secure_datasets import by_dbt
from secure_datasets.cli import main

PAGE = (ROOT / "docs/as-of.md").read_text(encoding="utf-8")
ANY = str(COMPILED_AS_OF)
NO_ROWS: World = {table: [] for table in TABLES}
SUFFIX = "_as_of_20240501_000000"


@pytest.fixture(scope="module", autouse=True)
def _clock():
    """Let all deliveries of the sample have come, whatever day it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(moments, "now", lambda: datetime(2027, 1, 1))
        yield


def message(call, *arguments) -> str:
    """Return the sentence with which a call stops."""
    with pytest.raises(CompilationError) as stopped:
        call(*arguments)
    return str(stopped.value.msg)


# The moment


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("2026-03-01 00:00:00", "2026-03-01 00:00:00"),
        ("2026-03-01T23:59:59", "2026-03-01 23:59:59"),
        ("2026-03-01 01:02:03.5", "2026-03-01 01:02:03.500000"),
        ("2026-03-01 01:02:03.123456", "2026-03-01 01:02:03.123456"),
        ("2026-03-01", "2026-03-01 00:00:00"),
        ("0001-01-01", "0001-01-01 00:00:00"),
        (date(2026, 3, 1), "2026-03-01 00:00:00"),
        (datetime(2026, 3, 1, 1, 2, 3), "2026-03-01 01:02:03"),
    ],
)
def test_T1_a_moment_is_in_utc_and_a_day_is_its_beginning(value, text):
    assert as_of_text(None, value) == text


@pytest.mark.parametrize(
    "value",
    [
        *("", "now", "yesterday", "2026-02-30", "2026-03-01 24:00:00", "2026-3-1"),
        *("2026-03-01 00:00", "2026-03-01 00:00:00Z", "2026-03-01 00:00:00 UTC"),
        *(" 2026-03-01", "2026-03-01\n", "2026-03-01 00:00:00.1234567", "20260301"),
        *("\u0662\u0660\u0662\u0666-03-01", None, 20260301, True, ["2026-03-01"]),
        datetime.fromisoformat("2026-03-01 00:00:00+02:00"),
    ],
)
def test_T1_what_is_no_moment_is_told_in_one_sentence(value):
    said = str(value) if isinstance(value, datetime) else value
    sentence = f"The variable as_of is {said!r}; it must be a moment in UTC that is"
    assert sentence in message(check_vars, None, {"as_of": value})
    if value is not None:
        # While dbt parses, before anything is read.
        assert sentence in message(schema_name, None, "s", value)
        assert sentence in message(as_of_text, None, value)


def test_T1_a_moment_has_come(monkeypatch):
    monkeypatch.setattr(moments, "now", lambda: datetime(2026, 5, 1, 12))
    check_vars(None, {"as_of": "2026-05-01 12:00:00"})
    check_vars(None, {"as_of": "2026-05-01"})
    for future in ("2026-05-01 12:00:00.000001", "2026-05-02", date(2026, 5, 2)):
        told = message(check_vars, None, {"as_of": future})
        assert "that is not in the future" in told
        assert f"is '{future}';" in told


def test_T1_now_is_now_in_utc():
    here = datetime.now().astimezone()
    utc = here.replace(tzinfo=None) - here.utcoffset()
    assert abs(now() - utc) < timedelta(minutes=1)


# The schemas


@pytest.mark.parametrize(
    ("value", "suffix"),
    [
        ("2026-05-01", "_as_of_20260501_000000"),
        ("2026-05-01 23:59:58", "_as_of_20260501_235958"),
        ("2026-05-01 23:59:58.000001", "_as_of_20260501_235958_000001"),
        ("2026-05-01 23:59:58.1", "_as_of_20260501_235958_100000"),
        ("0999-01-02", "_as_of_09990102_000000"),
    ],
)
def test_T2_a_schema_is_called_after_the_moment(value, suffix):
    assert schema_name(None, "Mine", value) == f"mine{suffix}"
    assert schema_name(None, "Mine") == "mine"


@pytest.mark.parametrize("value", [None, "2026-05-01"])
@pytest.mark.parametrize("suffix", [SUFFIX, SUFFIX.upper(), f"{SUFFIX}_000001"])
def test_T2_no_other_schema_is_called_as_one_of_a_past_state(value, suffix):
    told = message(schema_name, None, f"mine{suffix}", value)
    assert "as those of past states are" in told
    assert schema_name(None, f"mine{suffix}_1") == f"mine{suffix}_1".lower()


def test_T2_nothing_is_sent_to_a_schema_that_is_not_of_the_moment():
    schemas = {"one": f"a{SUFFIX}", "two": f"b{SUFFIX}"}
    check_as_of(None, ANY, "build", False, schemas, [])
    for other in ("b", f"b{SUFFIX}_000001", "b_as_of_20240502_000000"):
        told = message(
            check_as_of, None, ANY, "build", False, schemas | {"two": other}, []
        )
        assert f"two would be built in the schema '{other}', which is not of" in told


def test_T2_nothing_is_read_that_was_published_without_the_moment():
    told = message(check_as_of, None, ANY, "run", True, {}, [])
    assert "leave out --defer." in told
    told = message(check_as_of, None, ANY, "clone", False, {}, [])
    assert "leave out dbt clone." in told


def test_T2_no_raw_table_is_loaded():
    told = message(check_as_of, None, ANY, "seed", False, {}, ["a", "events", "users"])
    assert (
        "leave out the seeds of the sample (a, events, users), as the selector" in told
    )
    told = message(check_as_of, None, ANY, "seed", False, {}, ["a", "b", "c", "d"])
    assert "(a, b, c and others)" in told


def test_T2_nothing_is_granted_on_a_past_state():
    granted = []

    def granting(moment: str | None) -> list:
        granted.clear()
        macro = Environment(extensions=["jinja2.ext.do"]).from_string(
            (Path(PACKAGE_PATH) / "macros/secure_spark__apply_grants.sql").read_text(),
            {
                "var": lambda name, default: moment if name == "as_of" else default,
                "default__apply_grants": lambda *given: granted.append(given),
            },
        )
        macro.module.secure_spark__apply_grants("a", {"select": ["b"]}, True)
        return list(granted)

    assert granting(None) == [("a", {"select": ["b"]}, True)]
    assert granting(ANY) == []


def rendered(
    path: str, name: str, moment: str | None, command: str, execute: bool = True
) -> str:
    """Render a macro that does nothing for a past state, with or without its moment."""

    def stop(sentence: str) -> None:
        raise CompilationError(sentence)

    def end(_: str) -> None:
        raise EOFError

    macro = Environment(extensions=["jinja2.ext.do"]).from_string(
        (ROOT / path).read_text(),
        {
            "var": lambda name, default="set": moment if name == "as_of" else default,
            "flags": SimpleNamespace(WHICH=command),
            "ref": str,
            "return": end,
            "exceptions": SimpleNamespace(raise_compiler_error=stop),
            "execute": execute,
        },
    )
    try:
        return getattr(macro.module, name)().strip()
    except EOFError:
        return ""


def test_T2_a_past_state_has_no_readers():
    macro = ("macros/readers/publish_readers_objects.sql", "publish_readers_objects")
    for command in ("build", "run"):
        assert rendered(*macro, ANY, command) == ""
        with pytest.raises(UndefinedError):
            rendered(*macro, None, command)
    # Before any operation dbt parses the hook that calls it.
    assert rendered(*macro, ANY, "run-operation", execute=False) == ""
    told = message(rendered, *macro, ANY, "run-operation")
    assert told == (
        "publish_readers_objects: past states and comparisons are for administrators,"
        " and have no readers: leave out as_of, before and after."
    )


def test_T2_the_grants_of_the_present_say_nothing_of_a_past_state():
    macro = ("macros/audit/check_privileges.sql", "check_privileges")
    assert not rendered(*macro, None, "compile")
    with pytest.raises(UndefinedError, match="load_relation"):
        rendered(*macro, None, "build")
    assert not rendered(*macro, ANY, "build")


def test_the_page_tells_what_dbt_says():
    section = PAGE.split("\n## What is refused\n")[1]
    told = re.findall(r"\| `([^`]+)` \|$", section, re.M)
    assert len(told) == 6
    code = (ROOT / "src/dbt_secure_spark/settings.py").read_text()
    code += (ROOT / "macros/readers/publish_readers_objects.sql").read_text()
    # Sentences stand on several lines there.
    code = re.sub(r'"\s*\n\s*f?"', "", code)
    for sentence in told:
        assert sentence in code


def test_T2_as_of_builds_what_decides_access_as_of_a_day(monkeypatch):
    called = []
    monkeypatch.setattr(by_dbt, "call", lambda _, given: called.append(given) or 0)
    arguments = ["as-of", "2026-05-01", "--project-dir", str(ROOT)]
    assert main([*arguments, "--profiles-dir", str(ROOT)]) == 0
    (command,) = called
    # The page says what it stands for.
    page = re.search(r"^\.venv/bin/dbt build (.*?) +# the same$", PAGE, re.M | re.S)
    same = shlex.split(page[1].replace("\\\n", " "))
    assert command[0] == "build" and len(command) == len(same) + 1
    kinds = ["--exclude-resource-type", "test"]
    kinds += ["--exclude-resource-type", "unit_test"]
    named_moments = []
    for options in (command[-len(same) :], same):
        assert options[:2] == ["--selector", "access"]
        named = options[options.index("--vars") + 1]
        named_moments.append(moments.moment(yaml.safe_load(named)["as_of"]))
        rest = [each for each in options[2:] if each not in ("--vars", named)]
        assert rest == kinds
    assert named_moments == [datetime(2026, 5, 1)] * 2


@pytest.fixture(scope="module")
def feeds(project):
    """The sample's feeds that have a past."""
    text = (project / "dbt_project.yml").read_text(encoding="utf-8")
    declared = yaml.safe_load(text)["vars"]["feeds"]
    return {name: f for name, f in declared.items() if f.get("kind") != "current"}


@pytest.fixture(scope="module")
def past(dbt, feeds):
    """dbt's manifest of the project as of a moment."""
    options = ("--quiet", "--no-partial-parse", "--no-write-json")
    variables = json.dumps({"as_of": ANY, "feeds": feeds})
    result = dbt("parse", *options, "--vars", variables)
    assert result.success, result.exception
    return result.result


@pytest.fixture(scope="module")
def past_models(project, past, feeds):
    """The models, compiled as of that moment."""
    target = project / "target" / "as_of"
    return compile_models(project, target, past, as_of=ANY, feeds=feeds)


def test_T2_every_relation_has_a_schema_that_is_called_after_the_moment(past, parsed):
    kinds = ("model", "seed", "snapshot")
    present, then = (
        {
            unique_id: node.schema
            for unique_id, node in manifest.nodes.items()
            if node.resource_type in kinds
        }
        for manifest in (parsed, past)
    )
    gone = {key.split(".")[-1] for key in present if key not in then}
    assert gone == {"access_freshness"}
    assert then == {key: present[key] + SUFFIX for key in then}
    assert len({*then.values()}) > 1, "none has a configured schema"
    raw = {source.schema for source in past.sources.values()}
    assert raw == {source.schema for source in parsed.sources.values()}


def test_T2_a_past_state_needs_none_of_the_seeds_with_raw_rows(past):
    loaded = {
        unique_id
        for unique_id in past.nodes
        if unique_id.startswith("seed.") and unique_id.split(".")[-1] in TABLES
    }
    assert len(loaded) == len(TABLES)
    for node in past.nodes.values():
        assert loaded.isdisjoint(node.depends_on_nodes), node.name


def test_T2_the_selector_holds_what_decides_access_and_its_parents(dbt, past, parsed):
    options = ["--quiet", "ls", "--selector", "access", "--output", "name"]
    options += ["--resource-type", "model", "--resource-type", "seed"]
    variables = ["--vars", json.dumps({"as_of": ANY})]
    selected = set(dbt(*options, *variables, manifest=past).result)
    assert selected >= {
        *("vw_secure_user_data_source_access", "vw_secure_user_project_access"),
        *("vw_secure_user_results_access", "vw_secure_user_roles", "user_role_names"),
        *("int_access_paths", "int_user_group_memberships", "stg_users"),
        "role_permissions",
    }
    assert not {name for name in selected if name.startswith("vw_dataset_")}
    assert selected.isdisjoint({*TABLES, "access_freshness", "stg_test_executions"})
    present = set(dbt(*options, manifest=parsed).result)
    assert present - selected == present & {*TABLES}, "now, the sample is loaded first"
    assert "users" in present


@pytest.mark.nightly
def test_T1_staging_alone_knows_the_moment(project, parsed, past_models, feeds):
    target = project / "target" / "now"
    models = compile_models(project, target, parsed, feeds=feeds)
    present = {model.name: model.sql for model in models if model.sql}
    clause = "(sf_date_created is null or sf_date_created <= timestamp"
    clause = re.compile(rf"\n +where {re.escape(clause)} '{ANY}Z'\)")
    asked = {}
    for model in past_models:
        # What tells of relations by their names knows their schemas.
        if not model.sql or model.path.parts[-2] in ("privileges", "leaks"):
            continue
        text, asked[model.name] = clause.subn("", model.sql.replace(SUFFIX, ""))
        # A state keeps the clock by which its readers were asked.
        text = text.replace(rf"timestamp \'{ANY}Z\'", "current_timestamp()")
        assert text == present[model.name]
    # It reads raw tables as staging does.
    assert asked.pop("uncounted_deliveries")
    staged = {f"stg_{table}": 1 for table in TABLES}
    assert {name: number for name, number in asked.items() if number} == staged


# Raw rows


def test_T3_random_worlds_have_load_times_of_every_kind():
    rows = [row for rows in batch(range(500, 520)).values() for row in rows]
    raw = [row["sf_date_created"] for row in rows]
    times = [time for row in rows if (time := load_time(row))]
    unread = [row for row in rows if load_time(row) is None]
    garbled = [row for row in unread if (row["sf_date_created"] or "").strip()]
    assert len(garbled) > 50
    assert len(unread) - len(garbled) > 500
    assert len(times) > 10_000
    assert len({*times}) > 5_000
    assert sum(bool(re.search(r"\.[0-9]{7,9}", each or "")) for each in raw) > 100
    assert sum((each or "") != (each or "").strip() for each in raw) > 50
    assert min(times).year < 1900 and max(times).year == 9999


def test_T3_the_oracle_counts_what_was_loaded_until_then_and_what_has_no_time():
    def world(*times: str | None) -> World:
        rows = [dict.fromkeys(TABLES["users"]) | {"sf_date_created": t} for t in times]
        return NO_ROWS | {"users": rows}

    moment = datetime(2026, 5, 1, 0, 0, 0, 123456)
    there = (None, "", "soon", "2026-02-30 00:00:00", "2026-05-01T00:00:00")
    there += ("\u00a02026-05-01 00:00:00.123456", "2026-05-01 00:00:00.123456999")
    later = (
        "2026-05-01 00:00:00.123457",
        "2026-05-01 00:00:01 ",
        "9999-12-31 23:59:59",
    )
    assert delivered_until(world(*later, *there), moment) == world(*there)


@pytest.mark.nightly
@pytest.mark.spark
def test_T1_a_delivery_counts_that_was_loaded_until_then_or_at_no_time(
    spark, past_models
):
    names = {model.name for model in past_models if model.name == "stg_users"}
    moment = datetime(2026, 5, 1, 0, 0, 0, 123456)
    times = {
        "there": [
            *(None, "soon", "2026-02-30 00:00:00", "2026-05-01T00:00:00"),
            *("\u00a02026-05-01 00:00:00.123456", "2026-05-01 00:00:00.1234569"),
        ],
        "later": ["2026-05-01 00:00:00.123457", "2026-05-01 00:00:01 "],
    }
    rows = [
        dict.fromkeys(TABLES["users"])
        | {"id": str(number), "login_name": kind, "is_active": "1"}
        | {"sf_date_created": time, "date_modified": "2026-04-01 00:00:00"}
        for number, (kind, time) in enumerate(
            (kind, time) for kind, of_kind in times.items() for time in of_kind
        )
    ]
    # What came later is not asked which is the newest.
    last = {
        "sf_date_created": "2026-05-02 00:00:00",
        "date_modified": "2026-05-02 00:00:00",
    }
    rows += [rows[0] | last | {"login_name": "newer"}]
    world = NO_ROWS | {"users": rows}
    for zone, ansi in SESSIONS:
        with session_settings(spark, zone, ansi):
            models = as_of(past_models, moment)
            staged = Pipeline(spark, models).run(world, only=names)
            # A load time that can't be read counts, and its delivery is rejected.
            columns = ("user_id", "login_name", "rejection_reason")
            found = staged["stg_users"].select(*columns).collect()
        assert sorted(map(tuple, found)) == [
            (0, "there", None),
            *((n, None, "unreadable sf_date_created") for n in (1, 2)),
            *((n, "there", None) for n in range(3, len(times["there"]))),
        ]


# In the schemas of the sample

# One of the days that a person worked out: this one is built by dbt.
MOMENT = "2026-08-15 00:00:00"
PAST = "secure_datasets_as_of_20260815_000000"


def access_of(frames: Mapping[str, DataFrame]) -> set[tuple]:
    """Return who has access to what, of all tiers, as the views say it."""
    return {
        tuple(row)
        for name, columns in ACCESS_VIEWS.items()
        for row in frames[name].selectExpr(*columns).collect()
    }


def metastore(spark) -> dict[str, str]:
    """Return what the metastore tells of each relation, past states aside."""
    told = {}
    for (schema,) in spark.sql("show schemas").collect():
        if "_as_of_" not in schema:
            properties = spark.sql(f"describe schema extended {schema}").collect()
            told[schema] = str(properties)
            for row in spark.sql(f"show table extended in {schema} like '*'").collect():
                told[f"{schema}.{row[1]}"] = row[3]
    return told


@pytest.fixture(scope="module")
def built_as_of(spark, built, dbt):
    """Build what decides access in the sample as of a moment.

    Gives what dbt printed, and what the metastore told of the rest before and after.
    """
    assert built.success
    before = metastore(spark)
    options = ["--exclude-resource-type", "test", "--exclude-resource-type"]
    options += ["unit_test", "--vars", json.dumps({"as_of": MOMENT})]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        result = dbt("build", "--selector", "access", *options)
    assert result.success, result.exception
    # What passes is noted for the next build as of the same moment.
    tested = dbt("test", "--select", "stg_users,test_name:keeps_most_ids", *options[4:])
    kinds = [each.node.resource_type for each in tested.result]
    assert tested.success and kinds.count("test") == 1
    yield printed.getvalue(), before, metastore(spark)
    for (schema,) in spark.sql("show schemas like '*_as_of_*'").collect():
        spark.sql(f"drop schema {schema} cascade")


@pytest.mark.nightly
@pytest.mark.spark
def test_T2_nothing_outside_of_its_schemas_is_touched(built_as_of, spark):
    _, before, after = built_as_of
    assert after == before
    schemas = {schema for (schema,) in spark.sql("show schemas").collect()}
    assert {schema for schema in schemas if "_as_of_" in schema} == {
        *(PAST, f"{PAST}_versions"),
    }
    assert spark.table(f"{PAST}.accepted_ids_of_sample").count()


@pytest.mark.nightly
@pytest.mark.spark
def test_T1_access_is_that_of_the_deliveries_until_then(built_as_of, spark):
    moment = datetime.fromisoformat(MOMENT)
    then = evaluate(delivered_until(sample(), moment))
    present = evaluate(sample())
    for name in ACCESS_VIEWS:
        found = {tuple(row) for row in spark.table(f"{PAST}.{name}").collect()}
        assert found == {*then.relations[name]}
        assert found != {*present.relations[name]}
        assert found
    frames = {name: spark.table(f"{PAST}.{name}") for name in ACCESS_VIEWS}
    assert access_of(frames) == expected_access(moment)


@pytest.mark.nightly
@pytest.mark.spark
def test_T1_the_summary_says_what_was_counted_and_what_has_no_load_time(built_as_of):
    printed, *_ = built_as_of
    title = f"As of {MOMENT} UTC, by the definitions of today, in the schema {PAST}."
    assert title in printed
    staged = ("users", "user_groups", "data_source_permissions", "project_permissions")
    moment = datetime.fromisoformat(MOMENT)
    for table in staged:
        times = [load_time(row) for row in sample()[table]]
        counted = sum(time is None or time <= moment for time in times)
        undated = sum(time is None for time in times)
        line = rf"^{table} +{counted} +{len(times) - counted} +{undated}$"
        assert re.search(line, printed, re.M)
    assert not re.search("^test_executions ", printed, re.M), "they were not staged"
    totals = re.search(r"^all of them +(\d+) +(\d+) +(\d+)$", printed, re.M)
    assert int(totals[2]) > 0


@pytest.mark.nightly
@pytest.mark.spark
def test_T2_what_dbt_would_defer_is_refused(built_as_of, dbt, spark, project, tmp_path):
    # Of no relation: that something could be deferred is enough.
    folder = project / "target"
    dbt("parse", writes_manifest=True)
    shutil.copy(folder / "manifest.json", tmp_path)
    before = metastore(spark)
    past = ["--vars", json.dumps({"as_of": MOMENT})]
    result = dbt("run", "-s", "stg_users", "--defer", "--state", str(tmp_path), *past)
    assert not result.success
    assert "leave out --defer." in str(
        [each.message for each in result.result or []] + [result.exception]
    )
    assert metastore(spark) == before


@pytest.mark.nightly
@pytest.mark.spark
def test_T2_the_raw_tables_are_not_loaded(built_as_of, dbt, spark):
    before = metastore(spark)
    result = dbt("seed", "--vars", json.dumps({"as_of": MOMENT}))
    assert not result.success
    assert "the raw tables are read as they are and none is loaded" in str(
        [each.message for each in result.result or []] + [result.exception]
    )
    assert metastore(spark) == before
