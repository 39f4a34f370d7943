"""The project as Dagster assets: one for each model and seed, its tests as checks.

PROJECT_FOLDER names the project; DBT_TARGET an output of its profiles.yml, `local` by
default: all models are built by one dbt command.
"""

import os
from pathlib import Path

from dagster import (
    AssetExecutionContext,
    Definitions,
    ScheduleDefinition,
    define_asset_job,
)
from dagster_dbt import DbtCliResource, DbtProject, dbt_assets

PROJECT = Path(os.environ.get("PROJECT_FOLDER", Path(__file__).parents[2]))

project = DbtProject(
    project_dir=PROJECT,
    profiles_dir=PROJECT,
    target=os.environ.get("DBT_TARGET", "local"),
)
# Parses the project if this is a development environment; else `dbt parse` comes first.
project.prepare_if_dev()


# One dbt at a time may build a schema, a second one is refused: set the limit of the
# pool to 1, `dagster instance concurrency set secure_datasets 1`.
@dbt_assets(
    manifest=project.manifest_path,
    project=project,
    selector="production",
    pool="secure_datasets",
)
def secure_datasets(context: AssetExecutionContext, dbt: DbtCliResource):
    """Build what Dagster asks for; a failed model or test fails the run.

    So does a secure dataset that still shows rows of before.
    """
    arguments = ["build", "--vars", '{"stayed": "error"}']
    yield from dbt.cli(arguments, context=context).stream()


hourly = ScheduleDefinition(
    job=define_asset_job("hourly"),
    cron_schedule="0 * * * *",
)

definitions = Definitions(
    assets=[secure_datasets],
    schedules=[hourly],
    resources={
        "dbt": DbtCliResource(
            project_dir=project, dbt_executable=str(PROJECT / ".venv" / "bin" / "dbt")
        )
    },
)
