"""Spark gives what the quick engine gives, in each session, over one adversarial batch.

Rules are proven in the quick engine, by tests/meaning; this proves that Spark runs them
in the same way: casts, trimming, order, null and sessions.

`WORLDS` in the environment is the number of random worlds, 20 unless it is given, and
`POLICIES` that of random cases of policies, 16 unless it is given.
"""

from __future__ import annotations

import os
from collections import Counter
from types import SimpleNamespace

import pytest
from bad_rows import bad_world
from comparison import COMPARED, END, comparable_value
from compiled import kept_models, kept_tests, laid_out
from pipeline import SESSIONS, Pipeline, comparable_rows, of_the_world, session_settings
from policy_battery import Battery
from policy_sandbox import Sandbox, SparkSandbox, config
from projects import ROOT
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from quick import LAYER, QuickProject
from worlds import FEEDS_WITH_LIMITS, NOW, batch, limited

from dbt_secure_spark.session import with_settings
from secure_datasets.engines.duckdb import DuckDB
from secure_datasets.render.staging.reading import delivered_text

pytestmark = pytest.mark.spark

SEEDS = range(int(os.environ.get("WORLDS", "20")))
CASES = int(os.environ.get("POLICIES", "16"))
# Spark plans the datasets of so many cases in one query.
IN_A_QUERY = 8
# Both sides of UTC's midnight, at which a year, a month and a day begin: in the other
# zone both are on one side.
MIDNIGHT = ("2025-12-31 23:30:00", "2026-01-01 00:30:00")
AT_MIDNIGHT = 60
# What is of the run and not of the rows.
TIMES_OF_THE_RUN = ("read_at", "resolved_at")


@pytest.fixture(scope="module")
def world():
    """The random worlds, and the rows of docs/bad-input.md.

    The last runs and events of each table are at midnight.
    """
    world = batch(SEEDS)
    for rows in world.values():
        for number, row in enumerate(rows[-AT_MIDNIGHT:]):
            for column in ("date_started", "date_completed", "event_date"):
                if row.get(column):
                    row[column] = MIDNIGHT[number % 2]
    bad = bad_world(first_id=10**9)
    return {table: [*rows, *bad[table]] for table, rows in world.items()}


def as_texts(rows: list[dict]) -> Counter:
    """Count rows of the quick engine as Spark's are counted.

    In the session the worlds' relations have other names, also where a text has one.
    """
    return Counter(of_the_world(END.join(map(as_text, row.values()))) for row in rows)


def as_text(value) -> str:
    """Return a value as Spark's cast to text gives it."""
    if isinstance(value, list):
        return f"[{', '.join('null' if v is None else as_text(v) for v in value)}]"
    if isinstance(value, dict):
        inner = ("null" if v is None else as_text(v) for v in value.values())
        return f"{{{', '.join(inner)}}}"
    return comparable_value(value)


def reason_in(names) -> str:
    """Return the column that says why a row is rejected."""
    return "reason" if "reason" in names else "rejection_reason"


def without_ties(frame: DataFrame) -> DataFrame:
    """Leave out which of several tied deliveries stands for a conflict: it is open."""
    if "raw_row" not in frame.columns:
        return frame
    is_one = F.col(reason_in(frame.columns)) != "conflict"
    for name in ("raw_id", "raw_row"):
        frame = frame.withColumn(name, F.when(is_one, F.col(name)))
    return frame.withColumnRenamed("raw_row", "delivery")


def out_of_time(quick: DuckDB) -> list[dict]:
    """Return rights that are outside their time; none where no feed declares one."""
    name = f"{LAYER}.stg_project_permissions"
    if "is_live_in_its_time" not in quick.columns(name):
        return []
    return quick.ask(f"select * from {name} where is_live_in_its_time and not is_live")


@pytest.mark.parametrize(("zone", "ansi"), SESSIONS)
def test_every_model_has_the_same_rows(spark, world, zone, ansi):
    """In the other session rights begin and end, as their feeds declare."""
    has_limits = (zone, ansi) == SESSIONS[1]
    models = kept_models(**({"feeds": FEEDS_WITH_LIMITS} if has_limits else {}))
    world, clock = limited(world, 0) if has_limits else world, f"timestamp '{NOW}Z'"
    quick = QuickProject(models, clock=clock).run(world)
    assert bool(out_of_time(quick)) == has_limits
    pipeline = Pipeline(spark, laid_out(models, ansi), clock=clock)
    names = [model.name for model in models]
    differing = {}
    with session_settings(spark, zone, ansi):
        results = pipeline.run(world, {*names})
        for name in names:
            frame = without_ties(results[name].drop(*TIMES_OF_THE_RUN))
            columns = [c for c in results[name].columns if c not in TIMES_OF_THE_RUN]
            found = comparable_rows(frame)
            rows = quick.ask(f"select {', '.join(columns)} from {LAYER}.{name}")
            for row in rows:
                if "raw_row" in row and row.get(reason_in(row)) == "conflict":
                    row["raw_id"] = row["raw_row"] = None
            wanted = as_texts(rows)
            if found != wanted:
                differing[name] = (
                    [*(found - wanted)][:2],
                    [*(wanted - found)][:2],
                )
    days = {str(row["day"]) for row in quick.ask(f"select day from {LAYER}.dim_days")}
    assert {moment.split(" ")[0] for moment in MIDNIGHT} <= days
    assert set(COMPARED) < {*names}
    assert not differing, "\n".join(f"{k}: {v}" for k, v in differing.items())


@pytest.mark.parametrize("first", range(0, CASES, IN_A_QUERY))
def test_random_policies_show_the_same_rows(spark, first):
    cases = range(first, min(first + IN_A_QUERY, CASES))
    zone, ansi = SESSIONS[first // IN_A_QUERY % len(SESSIONS)]
    battery = Battery(SparkSandbox(spark), cases)
    with session_settings(spark, zone, ansi):
        found = battery.found()
    assert found == Battery(Sandbox(), cases).found()
    assert not battery.differences_of(found)


OVER_ANOTHER = config(
    'role: A, resource: notes, condition: "news_id < 9"',
    'role: "*", resource: notes.reach, mask: "concat(reach, \'\')"',
    "role: A, resource: news.reach, mask: \"'*'\"",
    dataset="""
        news:
            base: all_news
            columns: [news_id, reach]
            unique_key: [news_id]
            switch:
                column: reach
                cases:
                    Team: {tier: team, keys: {team_id: news_id}}
                    World: {visible_to: everyone}
    """,
    more="notes: {base: vw_secure_dataset_news, columns: [news_id, reach],"
    " unique_key: [news_id]}",
)
LAWS = (
    "assert_visible_rows_meet_every_rule",
    "assert_rows_that_meet_every_rule_are_visible",
    "assert_masks_are_put_on_and_change_nothing_else",
)


def counted_over_another(sandbox):
    """Return the rules that `who` counts for two users, and what the laws find."""
    rows = [(7, "World"), (9, "World"), (8, "Team")]
    sandbox.table("all_news", "news_id bigint, reach string", rows)
    sandbox.table("team_access", "team_id bigint, user_id bigint", [(8, 1), (8, 2)])
    sandbox.roles({1: ["A"], 2: []}, inactive=[2])
    for name in ("news", "notes"):
        sandbox.secure(OVER_ANOTHER, name)
    macros, printed = sandbox.macros(OVER_ANOTHER), []
    for user in (1, 2):
        shown = macros.shown(user)
        printed += shown.rules(
            lambda query: SimpleNamespace(rows=sandbox.answer(query))
        )
    texts = [(ROOT / f"tests/dbt/{law}.sql").read_text() for law in LAWS]
    return printed, [sandbox.rows(macros.rendered(text)) for text in texts]


def test_rules_of_a_dataset_over_rows_for_everyone_are_counted_alike(spark):
    printed, broken = counted_over_another(SparkSandbox(spark))
    assert (printed, broken) == counted_over_another(Sandbox())
    assert broken == [[], [], []]
    counted = {row[1] for row in printed}
    assert counted >= {'condition of "A"', "mask on reach of everybody"}


def test_spark_can_read_every_data_test(spark):
    """The quick engine runs them; the nightly lane also reads them over the sample."""
    parser = spark._jsparkSession.sessionState().sqlParser()
    for text in kept_tests().values():
        parser.parsePlan(text)


# Where a time may be null, what the project writes it out by.
WRITTEN = (
    ("at", "timestamp"),
    ("at", "timestamp", "moment"),
    ("at", "timestamp", "local"),
)


@pytest.mark.parametrize("given", WRITTEN)
def test_generated_code_writes_a_time_that_is_null(spark, given):
    """All other tests interpret expressions, as TEST_SETTINGS say."""
    text = delivered_text(*given)
    # What has no table is worked out while Spark plans, without generated code.
    times = (
        "select if(id = 0, timestamp'2026-01-02 03:04:05Z', null) as at from range(2)"
    )
    query = f"select left({text}, 10) from ({times}) order by at nulls last"
    with with_settings(spark, {"spark.sql.codegen.factoryMode": "CODEGEN_ONLY"}):
        found = spark.sql(query).collect()
    assert [row[0] for row in found] == ["2026-01-02", None]
