"""Two that should not meet: a run that was suspended, and a second metastore."""

from __future__ import annotations

import copy
import csv
import json
import os
import signal
import time
from pathlib import Path

import pytest
from harness import LOOPBACK, READ, Deployment, connect_server, stop, wait_for
from projects import TEST_SETTINGS
from small_project import write_csv

pytestmark = [pytest.mark.spark, pytest.mark.deployment]

LOCK_SECONDS = 4
VARS = ("--vars", json.dumps({"run_lock_seconds": LOCK_SECONDS, "summary": False}))
JOBS = ("--select", "+vw_secure_dataset_jobs")
SEEN = {"jobs": "select job_name, user_id from secure_datasets.vw_secure_dataset_jobs"}


def seen(deployment: Deployment) -> set[str]:
    """The rows that the secure dataset shows, each as one text."""
    (deployment.folder / "queries.json").write_text(json.dumps(SEEN))
    printed = deployment.python(READ, deployment.folder / "queries.json")
    return {row for row, _ in json.loads(printed)["jobs"]}


def rename_jobs(deployment: Deployment, name: str) -> None:
    """Let the next load deliver all jobs under names that begin so."""
    path = deployment.folder / "seeds/repository/jobs.csv"
    with path.open(newline="") as file:
        rows = [row | {"name": name} for row in csv.DictReader(file)]
    write_csv(path, rows)


@pytest.mark.parametrize("moment", ["START python published_view", "vw_dataset_jobs"])
def test_a_run_that_was_suspended_publishes_nothing_over_a_newer_one(tmp_path, moment):
    deployment = Deployment(tmp_path / "project", "connect")
    with connect_server(tmp_path) as port:
        deployment.parameters["spark.remote"] = f"sc://{LOOPBACK}:{port}"
        deployment.write_profile()
        for command in (("seed",), ("run", *JOBS)):
            code, printed = deployment.dbt(*command, *VARS)
            assert code == 0, printed[-4000:]
        rename_jobs(deployment, "older")
        code, printed = deployment.dbt("seed", "--select", "jobs", *VARS)
        assert code == 0, printed[-4000:]
        suspended = deployment.start_dbt(
            *("run", *JOBS, *VARS, "--target-path", "target/suspended")
        )
        try:
            wait_for(suspended, moment)
            os.kill(suspended.pid, signal.SIGSTOP)
            rename_jobs(deployment, "newer")
            time.sleep(LOCK_SECONDS)
            for command in (("seed", "--select", "jobs"), ("run", *JOBS)):
                code, printed = deployment.dbt(*command, *VARS)
                assert code == 0, printed[-4000:]
            after = seen(deployment)
            os.kill(suspended.pid, signal.SIGCONT)
            printed = suspended.communicate(timeout=600)[0]
        finally:
            stop(suspended, signal.SIGKILL)
        assert suspended.returncode != 0
        assert "taken for killed by another one" in " ".join(printed.split())
        assert seen(deployment) == after
        assert after
        assert all("newer" in row for row in after)


def test_a_second_metastore_does_not_touch_the_warehouse_of_the_first(tmp_path):
    deployment = Deployment(tmp_path / "project", "local")
    deployment.parameters.update(TEST_SETTINGS)
    other = copy.deepcopy(deployment.output)
    key = "spark.hadoop.javax.jdo.option.ConnectionURL"
    other["server_side_parameters"][key] = (
        f"jdbc:derby:;databaseName={tmp_path}/other_metastore;create=true"
    )
    deployment.profile["outputs"]["other"] = other
    deployment.write_profile()
    code, printed = deployment.dbt("seed", *VARS)
    assert code == 0, printed[-4000:]
    warehouse = Path(deployment.parameters["spark.sql.warehouse.dir"])
    before = {path: path.stat().st_mtime_ns for path in warehouse.rglob("*.parquet")}
    assert before
    for command in (("seed", "--select", "role_permissions"), ("run",)):
        code, printed = deployment.dbt(*command, *VARS, "--target", "other")
        assert code != 0
        assert "belongs to another metastore" in " ".join(printed.split())
        assert "OK loaded" not in printed
    after = {path: path.stat().st_mtime_ns for path in warehouse.rglob("*.parquet")}
    assert after == before
    code, printed = deployment.dbt("run", *JOBS, *VARS)
    assert code == 0, printed[-4000:]
    assert seen(deployment)
