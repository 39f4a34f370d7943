"""Each line about the feed in docs/bad-input.md is true."""

from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone

import pytest
from oracle.contract import TABLES
from projects import ROOT

pytestmark = pytest.mark.spark

REPLICA = "replica_of_the_feed"
RUNS = ("test_executions", "job_executions", "events")


@pytest.fixture
def delivered(spark, rows):
    """Add a delivery to a replica of the sample: `delivered("users", hours_ago=5)`.

    The replica's tables are the sample's, so nothing in it is new to what was built.
    """
    spark.sql(f"create schema {REPLICA}")

    def deliver(table: str, undated: int = 0, **ago: float) -> None:
        nothing = ", ".join(["null"] * len(TABLES[table]))
        added = f" union all select {nothing}" * undated
        if ago:
            loaded = datetime.now(timezone.utc) - timedelta(**ago)
            columns = dict.fromkeys(TABLES[table], "null")
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


@pytest.fixture
def verdict(dbt):
    """Run one data test: `verdict(name, **vars)` gives its status and its message."""

    def run(name: str, **variables: object) -> tuple[str, str]:
        result = dbt("test", "--select", name, "--vars", json.dumps(variables))
        (tested,) = [each for each in result.result if each.node.name == name]
        return str(tested.status), tested.message or ""

    return run


@pytest.mark.parametrize(
    ("name", "threshold"),
    [
        ("assert_few_rows_are_rejected", "rejected_rows_error_threshold"),
        ("assert_few_references_dangle", "dangling_references_error_threshold"),
    ],
)
def test_few_are_warned_of_and_more_than_the_threshold_fail(
    rows, verdict, name, threshold
):
    assert verdict(name)[0] == "warn"
    status, message = verdict(name, **{threshold: 3})
    assert status == "fail"
    assert "> 3" in message


def test_rights_resolved_before_newer_raw_rows_came_are_warned_of_with_the_age(
    delivered, verdict
):
    name = "assert_access_is_resolved_from_the_newest_deliveries"
    assert verdict(name, raw_schema=REPLICA) == ("pass", "")

    delivered("events", hours=9)
    assert verdict(name, raw_schema=REPLICA)[0] == "pass", "events decide no access"

    delivered("user_groups", hours=4.5)
    delivered("reports", hours=1.5)
    status, message = verdict(name, raw_schema=REPLICA)
    assert status == "warn"
    assert message.startswith("Got 5 results"), "the hours that the oldest has waited"

    status, message = verdict(name, raw_schema=REPLICA, access_stale_error_hours=4)
    assert status == "fail"
    assert message.startswith("Got 5 results")


@pytest.mark.parametrize(
    ("undated", "ago", "hours"), [(0, 0.5, 1), (1, 0.5, 72), (1, 89.5, 90), (1, 0, 72)]
)
def test_what_came_without_a_load_time_waits_beside_rows_that_came_later(
    delivered, dbt, rows, undated, ago, hours
):
    delivered("reports", undated=undated, **({"hours": ago} if ago else {}))
    name = "assert_access_is_resolved_from_the_newest_deliveries"
    result = dbt(
        "test", "--select", name, "--vars", json.dumps({"raw_schema": REPLICA})
    )
    (tested,) = [each for each in result.result if each.node.name == name]
    # As if access had been resolved three days ago, but for a minute.
    resolved = datetime.now(timezone.utc) - timedelta(hours=72, minutes=-1)
    moment = int(resolved.timestamp() * 1_000_000)
    query = re.sub(
        r"\b\d+ as read_at", f"{moment} as read_at", tested.node.compiled_code
    )
    ((found,),) = rows(f"select hours_waiting from ({query})")
    assert found == hours


@pytest.fixture
def freshness(dbt, project):
    """Run `dbt source freshness` on the replica: the status of each raw table."""

    def run() -> dict[str, str]:
        dbt("source", "freshness", "--vars", json.dumps({"raw_schema": REPLICA}))
        sources = json.loads((project / "target" / "sources.json").read_text())
        return {
            result["unique_id"].split(".")[-1]: result["status"]
            for result in sources["results"]
        }

    return run


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


def test_the_page_tells_the_thresholds():
    page = (ROOT / "docs" / "bad-input.md").read_text(encoding="utf-8")
    section = page.split("## The feed")[1].split("\n### ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    assert len(lines) == 6, "each line has its test here, the last in test_lost_ids.py"
    assert "warns after 24 hours and fails after 72" in lines[3]
    assert "warns after 30 days" in lines[4]
