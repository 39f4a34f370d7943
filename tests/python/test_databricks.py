"""What dbt would do on Databricks, as far as rendering tells: nothing is run there."""

from __future__ import annotations

import os

import pytest
import yaml
from conftest import ROOT
from dbt.adapters.spark import python_submissions
from dbt.config.profile import Profile
from dbt.config.renderer import DbtProjectYamlRenderer, ProfileRenderer
from dbt_common.context import set_invocation_context

CLUSTER = {"spark_version": "17.3.x-scala2.13", "num_workers": 1}


@pytest.fixture
def profile(monkeypatch) -> Profile:
    """The example's own output."""
    for name in ("HOST", "TOKEN", "CLUSTER"):
        monkeypatch.setenv(f"DATABRICKS_{name}", name.lower())
    set_invocation_context(os.environ)
    return Profile.from_raw_profiles(
        yaml.safe_load((ROOT / "profiles.yml.example").read_text()),
        *("secure_datasets", ProfileRenderer(), "databricks"),
    )


def test_python_models_are_submitted_through_a_job_cluster(parsed, profile):
    # What that output would make of the config as it is written, wherever it stands.
    renderer = DbtProjectYamlRenderer(profile)
    methods = {
        renderer.render_value(node.unrendered_config["submission_method"])
        for node in parsed.nodes.values()
        if node.resource_type == "model" and node.language == "python"
    }
    assert methods == {"job_cluster"}


def test_a_submission_carries_the_code_and_the_cluster(parsed, monkeypatch):
    (node,) = (n for n in parsed.nodes.values() if n.name == "int_access_paths")
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
