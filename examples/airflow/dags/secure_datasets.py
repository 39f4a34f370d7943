"""The project as an Airflow DAG: a task for each model, its tests behind it.

Cosmos reads the models from dbt's manifest, which `.venv/bin/dbt parse` writes, and
runs each with the project's own dbt. PROJECT_FOLDER names the project, DBT_TARGET an
output of its profiles.yml: `connect` by default, since the embedded Spark would start
anew with each task.
"""

import os
from datetime import datetime
from pathlib import Path

from cosmos import DbtDag, ExecutionConfig, ProfileConfig, ProjectConfig, RenderConfig
from cosmos.constants import InvocationMode, LoadMode

PROJECT = Path(os.environ.get("PROJECT_FOLDER", Path(__file__).parents[3]))
DBT = str(PROJECT / ".venv" / "bin" / "dbt")

secure_datasets = DbtDag(
    dag_id="secure_datasets",
    schedule="@hourly",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    # One dbt at a time may build a schema: a second one is refused.
    max_active_runs=1,
    max_active_tasks=1,
    # `stayed` is left at warn: each model is a run of its own here. An error would keep
    # the datasets over one that still shows rows of before from losing revoked rights.
    project_config=ProjectConfig(
        dbt_project_path=PROJECT, manifest_path=PROJECT / "target" / "manifest.json"
    ),
    profile_config=ProfileConfig(
        profile_name="secure_datasets",
        target_name=os.environ.get("DBT_TARGET", "connect"),
        profiles_yml_filepath=PROJECT / "profiles.yml",
    ),
    execution_config=ExecutionConfig(
        dbt_executable_path=DBT, invocation_mode=InvocationMode.SUBPROCESS
    ),
    render_config=RenderConfig(
        load_method=LoadMode.DBT_MANIFEST,
        # The selector `production`, which Cosmos can't read from a manifest.
        exclude=["path:seeds/repository"],
    ),
)
