"""The sample on every kind of Spark that can be started here: the same rows on each."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from subprocess import PIPE

import pytest
from harness import (
    BUILD,
    LOOPBACK,
    READ,
    Deployment,
    connect_server,
    postgresql_metastore,
    standalone_cluster,
    thrift_server,
)
from projects import ROOT, TEST_SETTINGS

pytestmark = [pytest.mark.spark, pytest.mark.deployment]

# Each has a Spark of its own, in .venv-spark-3.5 and so on.
OTHER_SPARKS = [
    each.stem.removeprefix("constraints-")
    for each in sorted(ROOT.glob("constraints-spark-*.txt"))
]
QUESTIONS = (
    ("who", "hpark"),
    ("why", "hpark", "--dataset", "tests", "--row", "test_id=12"),
)
OPERATIONS = (
    ("who", "--args", "{user: hpark}"),
    ("timeline", "--args", "{object: Data Source loan_origination}"),
)


def rows(deployment: Deployment) -> dict[str, list]:
    """Load, run and test the sample; return the rows of every relation."""
    code, printed = deployment.dbt(*BUILD)
    assert code == 0, printed[-4000:]
    return json.loads(deployment.python(READ))


def answers(deployment: Deployment) -> list[tuple[int, list[str]]]:
    """Return what the sample answers: to the command, and in Spark."""
    command, found = deployment.bin / "secure-datasets", []
    for question in QUESTIONS:
        done = subprocess.run(
            [command, *question], cwd=deployment.folder, stdout=PIPE, text=True
        )
        found.append((done.returncode, done.stdout.splitlines()))
    for operation in OPERATIONS:
        code, printed = deployment.dbt("--quiet", "run-operation", *operation)
        lines = printed.splitlines()
        # Spark 4's launcher warns of a module of Java.
        found.append((code, [each for each in lines if "WARNING" not in each]))
    return found


@pytest.fixture(scope="session")
def local(tmp_path_factory) -> Deployment:
    """The sample in an embedded Spark, not built yet."""
    folder = tmp_path_factory.mktemp("local") / "product"
    deployment = Deployment(folder, "local", of_sample=True)
    deployment.parameters.update(TEST_SETTINGS)
    deployment.write_profile()
    return deployment


@pytest.fixture(scope="session")
def local_rows(local) -> dict[str, list]:
    """What the embedded Spark makes of the sample."""
    return rows(local)


@pytest.fixture(params=["connect", "thrift", "cluster", "shared", *OTHER_SPARKS])
def deployment(request, tmp_path) -> Iterator[Deployment]:
    """A copy of the project that runs against servers of its own."""
    target = "local" if request.param in OTHER_SPARKS else request.param
    deployment = Deployment(tmp_path / "product", target, of_sample=True)
    parameters = deployment.parameters
    with ExitStack() as servers:
        if request.param == "connect":
            port = servers.enter_context(connect_server(tmp_path))
            parameters["spark.remote"] = f"sc://{LOOPBACK}:{port}"
        elif request.param == "thrift":
            port, connect_port = servers.enter_context(thrift_server(tmp_path))
            deployment.output["port"] = port
            parameters["spark.remote"] = f"sc://{LOOPBACK}:{connect_port}"
        elif request.param == "cluster":
            port = servers.enter_context(standalone_cluster(tmp_path))
            parameters["spark.master"] = f"spark://{LOOPBACK}:{port}"
            parameters.update(TEST_SETTINGS)
        elif request.param in OTHER_SPARKS:
            parameters.update(TEST_SETTINGS)
            deployment.bin = ROOT / f".venv-{request.param}/bin"
        else:
            parameters.update(TEST_SETTINGS)
            servers.enter_context(postgresql_metastore(deployment))
        deployment.write_profile()
        yield deployment


def test_every_relation_has_the_rows_that_the_embedded_spark_gives(
    deployment, local, local_rows
):
    found = rows(deployment)
    assert found.keys() == local_rows.keys()
    assert {name for name in found if found[name] != local_rows[name]} == set()
    assert len(found["secure_datasets.vw_secure_dataset_test_executions"]) == 553
    if deployment.bin != local.bin:
        assert answers(deployment) == answers(local)
