"""What dbt would do on Databricks, as far as rendering tells: nothing is run there."""

from __future__ import annotations

import pytest
from dbt.adapters.spark import python_submissions
from projects import ROOT

CLUSTER = {"spark_version": "17.3.x-scala2.13", "num_workers": 1}


@pytest.fixture(scope="module")
def manifest(product, dbt, tmp_path_factory):
    """The product, parsed with the example's own output."""
    profiles = tmp_path_factory.mktemp("databricks")
    (profiles / "profiles.yml").write_text((ROOT / "profiles.yml.example").read_text())
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOST", "TOKEN", "CLUSTER"):
            patch.setenv(f"DATABRICKS_{name}", name.lower())
        result = dbt(
            *("parse", "--quiet", "--target", "databricks"),
            *("--target-path", str(profiles), "--profiles-dir", str(profiles)),
            folder=product,
        )
    assert result.success, result.exception
    return result.result


def test_python_models_are_submitted_through_a_job_cluster(manifest):
    methods = {
        node.config.get("submission_method")
        for node in manifest.nodes.values()
        if node.resource_type == "model" and node.language == "python"
    }
    assert methods == {"job_cluster"}


def test_what_is_stored_is_delta_and_seeds_go_to_the_cluster_too(manifest):
    stored = [
        (node.config.get("file_format"), node.config.get("submission_method"))
        for node in manifest.nodes.values()
        if node.config.materialized in ("published_view", "seed")
    ]
    assert set(stored) == {("delta", "job_cluster")}


def test_a_submission_carries_the_code_and_the_cluster(manifest, monkeypatch):
    (node,) = (n for n in manifest.nodes.values() if n.name == "int_access_paths")
    model = node.to_dict()
    model["config"]["job_cluster_config"] = CLUSTER
    sent = []

    def submit(self, *arguments: object) -> None:
        sent.append(arguments)

    helper = python_submissions.JobClusterPythonJobHelper
    monkeypatch.setattr(helper, "_submit_through_notebook", submit)
    credentials = type("Credentials", (), {"host": "host", "token": "token"})()
    helper(model, credentials).submit("the code")
    assert sent == [("the code", {"new_cluster": CLUSTER})]
