"""A comparison that is killed in its middle, and two of them at once."""

from __future__ import annotations

import json
import os
import re
import signal

import pytest
from harness import LOOPBACK, READ, Deployment, connect_server, stop
from projects import TEST_SETTINGS

pytestmark = [pytest.mark.spark, pytest.mark.deployment]

LOCK_SECONDS = 4
AS_OF = "2026-09-25 00:00:00"
BEFORE = "secure_datasets_as_of_20260925_000000"
SCHEMA = f"access_changes_{BEFORE}_to_secure_datasets"
ACCESS = (
    *("build", "--selector", "access"),
    *("--exclude-resource-type", "test", "--exclude-resource-type", "unit_test"),
)
COMPARE = ("build", "--select", "tag:access_changes")


def given(**variables: str) -> tuple[str, str]:
    """Return the variables of a command."""
    settings = {"run_lock_seconds": LOCK_SECONDS, "summary": False}
    return "--vars", json.dumps(settings | variables)


STATES = given(before=BEFORE, after="secure_datasets")


def asked(deployment: Deployment, **queries: str) -> dict[str, list]:
    """Return what queries answer."""
    path = deployment.folder / "queries.json"
    path.write_text(json.dumps(queries))
    return json.loads(deployment.python(READ, path))


def test_a_killed_comparison_publishes_nothing_and_of_two_one_is_refused(tmp_path):
    deployment = Deployment(tmp_path / "project", "connect")
    with connect_server(tmp_path) as port:
        deployment.parameters["spark.remote"] = f"sc://{LOOPBACK}:{port}"
        deployment.parameters.update(
            {k: v for k, v in TEST_SETTINGS.items() if k.startswith("spark.sql")}
        )
        deployment.write_profile()
        for command in (
            ("seed", *given()),
            (*ACCESS, *given()),
            (*ACCESS, *given(as_of=AS_OF)),
        ):
            code, printed = deployment.dbt(*command)
            assert code == 0, printed[-4000:]

        killed = deployment.start_dbt(*COMPARE, *STATES)
        try:
            for line in killed.stdout:
                # What it reads is there, and it has published nothing that tells.
                if "START sql" in line and ".access_changes " in line:
                    break
            os.killpg(killed.pid, signal.SIGKILL)
        finally:
            stop(killed, signal.SIGKILL)
        found = asked(deployment, there=f"show tables in {SCHEMA}")["there"]
        assert not any(re.search(r"\baccess_changes\b", str(row)) for row in found)

        # The next ones clear away what it left, and meet each other.
        both = [
            deployment.start_dbt(*COMPARE, *STATES, "--target-path", f"target/{name}")
            for name in ("one", "other")
        ]
        said = [process.communicate(timeout=900)[0] for process in both]
        codes = [process.returncode for process in both]
        assert sorted(map(bool, codes)) == [False, True], said[0][-2000:] + said[1]
        refused = said[codes.index(max(codes))]
        assert "Another dbt run is building this schema" in " ".join(refused.split())
        assert "OK created" not in refused
        found = asked(
            deployment,
            changes=f"select count(*) as n, 1 as one from {SCHEMA}.access_changes",
            left=f"show views in {SCHEMA}_versions like 'live_run_*'",
        )
        assert found["changes"]
        assert not found["left"]
