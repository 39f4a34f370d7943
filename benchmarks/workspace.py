"""The place of a benchmark: a Spark, a warehouse and a profile of its own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from dbt_secure_spark.session import start_session

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "target" / "benchmark"
# The sample as dbt runs it here, with a copy of the product installed: it has a star.
SAMPLE = "tarn_valley_bank"
PRODUCT = FOLDER / "product"
PROJECT = PRODUCT / "examples" / SAMPLE
SCHEMA = "secure_datasets"
# The raw tables that the sample loads, each by the feed that the sample declares.
OF_THE_SAMPLE = "repository_sample"
# The schema of the same project for more users.
GROWN_SCHEMA = "secure_datasets_grown"
# The settings for sessions that ask by user, by docs/performance.md.
READER_SETTINGS = {"spark.sql.cbo.enabled": "true"}


def output_in(folder: Path) -> dict[str, Any]:
    """Return an output of the example of a profile, whose warehouse is in a folder.

    `OUTPUT=cluster` in the environment takes the one whose work workers do, once
    scripts/cluster.sh has begun, which needs the Spark of this environment.
    """
    text = (ROOT / "profiles.yml.example").read_text()
    text = text.replace("PROJECT_FOLDER/.spark", f"{folder}/spark")
    profiles = yaml.safe_load(text.replace("PROJECT_FOLDER", str(ROOT)))
    output = profiles["secure_datasets"]["outputs"][os.environ.get("OUTPUT", "local")]
    settings = output["server_side_parameters"]
    settings["spark.driver.memory"] = "2g"
    # The last three are for runs of the small sample.
    options = settings["spark.driver.extraJavaOptions"]
    settings["spark.driver.extraJavaOptions"] = options.split(" -XX:Tiered")[0]
    settings["spark.sql.shuffle.partitions"] = "8"
    return output


class Workspace:
    """A folder, the session whose warehouse lies in it, and dbt on both."""

    def __init__(self, prepare: Callable[[Path], None] = lambda project: None) -> None:
        """Start anew; `prepare` may change the copy of the sample that dbt runs."""
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        PRODUCT.mkdir()
        shutil.copy(ROOT / "dbt_project.yml", PRODUCT)
        for name in ("analyses", "macros", "models", "seeds", "tests"):
            shutil.copytree(ROOT / name, PRODUCT / name)
        ignored = shutil.ignore_patterns(".spark", "target", "logs", "dbt_packages")
        shutil.copytree(ROOT / "examples" / SAMPLE, PROJECT, ignore=ignored)
        prepare(PROJECT)
        output = output_in(FOLDER)
        outputs = {"local": output, "grown": output | {"schema": GROWN_SCHEMA}}
        profile = {"target": "local", "outputs": outputs}
        (FOLDER / "profiles.yml").write_text(yaml.safe_dump({SAMPLE: profile}))
        place = ("--project-dir", str(PROJECT), "--profiles-dir", str(FOLDER))
        if not dbtRunner().invoke(["--quiet", "deps", *place]).success:
            sys.exit("dbt deps: the product can't be installed")
        self.settings = output["server_side_parameters"]
        self.spark: SparkSession = start_session(self.settings)

    def reader(self) -> SparkSession:
        """Return a session that asks by user, on the same Spark."""
        session = self.spark.newSession()
        for name, value in READER_SETTINGS.items():
            session.conf.set(name, value)
        return session

    def dbt(
        self, *arguments: str, raw_schema: str, target: str = "local"
    ) -> dict[str, float]:
        """Run dbt; return the seconds of each node, or stop with its message."""
        variables = {
            "raw_schema": raw_schema,
            "summary": False,
        }
        if raw_schema != OF_THE_SAMPLE:
            # Generated rows are appended.
            variables["feeds"] = {}
        result = dbtRunner().invoke(
            [
                *arguments,
                "--quiet",
                *("--vars", yaml.safe_dump(variables)),
                *("--target", target),
                *("--project-dir", str(PROJECT), "--profiles-dir", str(FOLDER)),
                *("--target-path", str(FOLDER / "target" / target)),
                *("--log-path", str(FOLDER / "logs")),
            ]
        )
        failed = [r for r in result.result or [] if r.status in ("error", "fail")]
        if result.exception or failed:
            sys.exit(f"dbt {arguments[0]}: {result.exception or failed[0].message}")
        return {
            r.node.name: r.execution_time
            for r in result.result
            if r.node.resource_type != "operation"
        }
