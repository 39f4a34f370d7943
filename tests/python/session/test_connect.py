"""The sample built by the plain dbt command on a real Spark Connect server."""

from __future__ import annotations

import json

import pytest
from harness import BUILD, LOOPBACK, READ, Deployment, connect_server
from read_relations import rows_of

pytestmark = pytest.mark.spark
DATASET = "vw_secure_dataset_test_executions"


def test_spark_connect_gives_the_rows_of_the_embedded_spark(rows, spark, tmp_path):
    deployment = Deployment(tmp_path / "product", "connect", of_sample=True)
    with connect_server(tmp_path) as port:
        deployment.parameters["spark.remote"] = f"sc://{LOOPBACK}:{port}"
        deployment.write_profile()
        # Everything is built there, and tested, with the other servers: here a Python
        # model, seeds, and one secure dataset of the widest tier.
        selected = ("--select", f"+{DATASET}", "--exclude-resource-type", "test")
        code, printed = deployment.dbt(*BUILD, *selected)
        assert code == 0, printed[-4000:]
        found = json.loads(deployment.python(READ))
    assert {f"secure_datasets.{DATASET}", "secure_datasets.int_access_paths"} <= {
        *found
    }
    for name, built in found.items():
        assert dict(built) == rows_of(spark.table(name)), name
