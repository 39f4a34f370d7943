"""Each line about the feed in docs/bad-input.md is true."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone

import pytest
from oracle.contract import TABLES
from pipeline import session_settings

pytestmark = pytest.mark.spark

REPLICA = "replica_of_the_feed"
NEWEST = "assert_access_is_resolved_from_the_newest_deliveries"
RUNS = ("test_executions", "job_executions", "events")


@pytest.fixture
def delivered(spark, rows):
    """Add a delivery to a replica of the sample: `delivered("users", hours_ago=5)`.

    The replica's tables are the sample's, so nothing in it is new to what was built.
    """
    spark.sql(f"create schema {REPLICA}")

    def deliver(table: str, undated: int = 0, **ago: float) -> None:
        columns = dict.fromkeys(
            spark.table(f"repository_sample.{table}").columns, "null"
        )
        added = f" union all select {', '.join(columns.values())}" * undated
        if ago:
            loaded = datetime.now(timezone.utc) - timedelta(**ago)
            columns["sf_date_created"] = f"'{loaded:%Y-%m-%d %H:%M:%S}'"
            added += f" union all select {', '.join(columns.values())}"
        spark.sql(
            f"create or replace view {REPLICA}.{table} as"
            f" select * from repository_sample.{table}{added}"
        )

    for table in TABLES:
        deliver(table)
    yield deliver
    spark.sql(f"drop schema {REPLICA} cascade")


@pytest.fixture(scope="module")
def on_replica(dbt):
    """Call dbt on the sample over the replica: it is parsed once."""
    replica = ("--vars", json.dumps({"raw_schema": REPLICA}))
    parsed = dbt("parse", "--quiet", *replica)
    assert parsed.success, parsed.exception
    return lambda *arguments: dbt(*arguments, *replica, manifest=parsed.result)


def verdict(result) -> tuple[str, str]:
    """Return the status and the message of the one data test of a run."""
    (tested,) = [each for each in result.result if each.node.name == NEWEST]
    return str(tested.status), tested.message or ""


@pytest.mark.nightly
def test_rights_resolved_before_newer_raw_rows_came_are_warned_of_with_the_age(
    delivered, on_replica, dbt
):
    ask = ("test", "--select", NEWEST)
    delivered("events", hours=9)
    assert verdict(on_replica(*ask)) == ("pass", ""), "events decide no access"

    delivered("user_groups", hours=4.5)
    delivered("reports", hours=1.5)
    status, message = verdict(on_replica(*ask))
    assert status == "warn"
    assert message.startswith("Got 5 results"), "the hours that the oldest has waited"

    over = json.dumps({"raw_schema": REPLICA, "access_stale_error_hours": 4})
    status, message = verdict(dbt(*ask, "--vars", over))
    assert status == "fail"
    assert message.startswith("Got 5 results")


@pytest.mark.parametrize(
    ("undated", "ago", "hours"), [(0, 0.5, 1), (1, 0.5, 72), (1, 89.5, 90), (1, 0, 72)]
)
def test_what_came_without_a_load_time_waits_beside_rows_that_came_later(
    delivered, on_replica, rows, undated, ago, hours
):
    delivered("reports", undated=undated, **({"hours": ago} if ago else {}))
    result = on_replica("test", "--select", NEWEST)
    (tested,) = [each for each in result.result if each.node.name == NEWEST]
    # As if access had been resolved three days ago, but for a minute.
    resolved = datetime.now(timezone.utc) - timedelta(hours=72, minutes=-1)
    moment = int(resolved.timestamp() * 1_000_000)
    query = re.sub(
        r"\b\d+ as read_at", f"{moment} as read_at", tested.node.compiled_code
    )
    assert rows(f"select hours_waiting from ({query})") == [(hours,)]


@pytest.fixture
def freshness(on_replica, project):
    """Run `dbt source freshness` on the replica: the status of each raw table."""

    def run() -> dict[str, str]:
        on_replica("source", "freshness")
        sources = json.loads((project / "target" / "sources.json").read_text())
        return {
            result["unique_id"].split(".")[-1]: result["status"]
            for result in sources["results"]
        }

    return run


@pytest.mark.nightly
def test_runs_and_events_are_stale_after_a_day_and_the_rest_after_a_month(
    delivered, freshness
):
    for table in TABLES:
        delivered(table, hours=23)
    assert set(freshness().values()) == {"pass"}

    for table in TABLES:
        delivered(table, hours=25)
    assert freshness() == {
        table: "warn" if table in RUNS else "pass" for table in TABLES
    }

    for table in TABLES:
        delivered(table, days=31)
    assert freshness() == {
        table: "error" if table in RUNS else "warn" for table in TABLES
    }


def test_the_sample_stands_still_and_is_never_stale(rows, dbt, project):
    assert dbt("source", "freshness").success
    assert json.loads((project / "target/sources.json").read_text())["results"] == []


@pytest.mark.parametrize("zone", ["Pacific/Pago_Pago", "Pacific/Kiritimati"])
def test_freshness_reads_load_times_in_utc(spark, parsed, zone):
    key = "source.secure_datasets.repository.users"
    field = parsed.sources[key].config.loaded_at_field
    seconds = 1767227400  # 2026-01-01 00:30:00
    with session_settings(spark, zone, "false"):
        for loaded in ("'2026-01-01 00:30:00'", f"timestamp_seconds({seconds})"):
            raw = f"(select {loaded} as sf_date_created)"
            found = spark.sql(f"select unix_seconds({field}) from {raw}").first()
            assert found[0] == seconds
