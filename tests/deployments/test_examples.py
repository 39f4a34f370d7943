"""The example DAGs import in environments of their own, and list every model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from harness import Deployment
from projects import ROOT

pytestmark = pytest.mark.deployment


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A parsed copy of the project, with the environment of this one."""
    deployment = Deployment(tmp_path_factory.mktemp("examples") / "project", "local")
    (deployment.folder / ".venv").symlink_to(ROOT / ".venv")
    code, printed = deployment.dbt("parse", "--quiet")
    assert code == 0, printed
    return deployment.folder


@pytest.mark.parametrize("name", ["airflow", "dagster"])
def test_an_example_lists_every_model(project, tmp_path, name):
    example = ROOT / "examples" / name
    environment = os.environ | {
        "PROJECT_FOLDER": str(project),
        "DBT_TARGET": "local",
        "AIRFLOW_HOME": str(tmp_path),
        "DAGSTER_HOME": str(tmp_path),
    }
    done = subprocess.run(
        [example / ".venv" / "bin" / "python", example / "check.py"],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    nodes = json.loads((project / "target" / "manifest.json").read_text())["nodes"]
    models = {key for key in nodes if key.startswith("model.")}
    assert models
    listed = [line for line in done.stdout.splitlines() if line.startswith("model.")]
    assert sorted(listed) == sorted(models)
