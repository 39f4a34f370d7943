"""Comparisons of two states that are killed, or meet: nothing half done shows."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator

import pytest
from comparison import END
from harness import LOOPBACK, READ, Deployment, connect_server, stop, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.deployment]

DAY = "2026-05-01"
NOW, THEN = "secure_datasets", "secure_datasets_as_of_20260501_000000"
ACCESS = (
    *("build", "--selector", "access"),
    *("--exclude-resource-type", "test", "--exclude-resource-type", "unit_test"),
)
LOCK_SECONDS = 4
TOLD = {
    "made": "show tables in {0}",
    "left": "show tables in {0}_versions",
    "changes": "select tier, user_id, change, causes from {0}.access_changes",
}


def variables(**given: str) -> tuple[str, str]:
    """The variables of a command, as its arguments."""
    rest = {"summary": False, "run_lock_seconds": LOCK_SECONDS}
    return "--vars", json.dumps(rest | given)


def comparison(before: str, after: str) -> list[str]:
    """The command that compares two states, in a target folder of its own."""
    return [
        *("build", "--select", "tag:access_changes"),
        *("--target-path", f"target/{before}"),
        *variables(before=before, after=after),
    ]


@pytest.fixture(scope="module")
def states(tmp_path_factory) -> Iterator[Deployment]:
    """The product's sample as it is now, and as it was on a day, on Spark Connect."""
    folder = tmp_path_factory.mktemp("states")
    deployment = Deployment(folder / "project", "connect")
    with connect_server(folder) as port:
        deployment.parameters["spark.remote"] = f"sc://{LOOPBACK}:{port}"
        deployment.write_profile()
        for command in (
            ("seed", *variables()),
            (*ACCESS, *variables()),
            (*ACCESS, *variables(as_of=DAY)),
        ):
            code, printed = deployment.dbt(*command)
            assert code == 0, printed[-4000:]
        yield deployment


def told(states: Deployment, what: str, before: str, after: str) -> set[tuple]:
    """The rows of a query about a comparison, each value as text."""
    query = TOLD[what].format(f"access_changes_{before}_to_{after}")
    (states.folder / "queries.json").write_text(json.dumps({what: query}))
    printed = states.python(READ, states.folder / "queries.json")
    return {tuple(row.split(END)) for row, _ in json.loads(printed)[what]}


def test_a_comparison_that_is_killed_has_published_nothing(states):
    killed = states.start_dbt(*comparison(THEN, NOW))
    try:
        wait_for(killed, "START sql published_view")
    finally:
        stop(killed, signal.SIGKILL)
    made = {row[1] for row in told(states, "made", THEN, NOW)}
    assert not made & {"access_changes", "row_changes"}
    code, printed = states.dbt(*comparison(THEN, NOW))
    assert code == 0, printed[-4000:]
    assert told(states, "changes", THEN, NOW)
    # One version of each relation is there, and no lock of the dead run.
    left = [row[1] for row in told(states, "left", THEN, NOW)]
    versions = [name.split("__v")[0] for name in left]
    assert len(versions) == len(set(versions)), left
    assert not any(name.startswith("live_run") for name in left), left


def test_two_comparisons_at_once_do_not_mix(states):
    first = states.start_dbt(*comparison(NOW, THEN))
    try:
        wait_for(first, "START sql published_view")
        # Of the same states, one at a time; of others, beside it.
        code, refused = states.dbt(*comparison(NOW, THEN))
        beside, printed = states.dbt(*comparison(THEN, NOW))
        of_first = first.communicate(timeout=600)[0]
    finally:
        stop(first, signal.SIGKILL)
    assert code != 0
    assert "Another dbt run is building this schema" in " ".join(refused.split())
    assert beside == 0, printed[-4000:]
    assert first.returncode == 0, of_first[-4000:]
    there, back = (
        {row[:3] for row in told(states, "changes", *both)}
        for both in ((THEN, NOW), (NOW, THEN))
    )
    turned = {"gained": "lost", "lost": "gained"}
    assert there
    assert back == {(tier, user, turned.get(c, c)) for tier, user, c in there}
