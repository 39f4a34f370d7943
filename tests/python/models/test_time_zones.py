"""No relation's rows depend on the session's time zone."""

from __future__ import annotations

from collections import Counter

import pytest
from comparison import END
from compiled import compile_models
from oracle.contract import World, read_world
from pipeline import Pipeline, comparable_rows, session_settings
from projects import ROOT

pytestmark = pytest.mark.spark

# Both sides of UTC's midnight, at which a year, a month and a day begin. Elsewhere all
# of them are on one side.
MIDNIGHT = ("2025-12-31 23:30:00", "2026-01-01 00:30:00")
FAR_WEST, FAR_EAST = "Pacific/Pago_Pago", "Pacific/Kiritimati"
# When something was worked out; and which of the deliveries stands for a conflict.
OPEN = ("read_at", "resolved_at", "raw_row")


@pytest.fixture(scope="module")
def world() -> World:
    """The sample, in which everything happens about midnight."""
    world = read_world(ROOT / "seeds/repository")
    for rows in world.values():
        for number, row in enumerate(rows):
            for column in ("date_started", "date_completed", "event_date"):
                if row.get(column):
                    row[column] = MIDNIGHT[number % 2]
    return world


@pytest.mark.parametrize("zone", [FAR_WEST, FAR_EAST])
def test_freshness_reads_load_times_in_utc(spark, parsed, zone):
    key = "source.secure_datasets.repository.users"
    field = parsed.sources[key].config.loaded_at_field
    seconds = 1767227400  # 2026-01-01 00:30:00
    with session_settings(spark, zone, "false"):
        for loaded in (f"'{MIDNIGHT[1]}'", f"timestamp_seconds({seconds})"):
            raw = f"(select {loaded} as sf_date_created)"
            found = spark.sql(f"select unix_seconds({field}) from {raw}").first()
            assert found[0] == seconds


def test_every_relation_has_the_same_rows_in_every_time_zone(
    spark, project, parsed, world
):
    models = compile_models(project, project / "target" / "zones", parsed)
    names = {model.name for model in models}

    def rows(zone: str) -> dict[str, Counter]:
        pipeline = Pipeline(spark, models)
        with session_settings(spark, zone, "false"):
            results = pipeline.run(world, names)
            frames = {name: frame.drop(*OPEN) for name, frame in results.items()}
            return {name: comparable_rows(frame) for name, frame in frames.items()}

    expected = rows("UTC")
    assert {"fct_test_executions", "dim_days", "daily_test_results"} <= expected.keys()
    days = [row.split(END)[0] for row in expected["dim_days"]]
    assert sorted(days) == [moment.split(" ")[0] for moment in MIDNIGHT]
    for zone in (FAR_WEST, FAR_EAST):
        found = rows(zone)
        assert [name for name in expected if found[name] != expected[name]] == [], zone
