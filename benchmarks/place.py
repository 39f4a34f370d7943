"""Where a benchmark runs: a Spark, a warehouse and a profile of its own."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import yaml
from dbt.cli.main import dbtRunner
from pyspark.sql import SparkSession

from dbt_spark_session.session import start_session

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "target" / "benchmark"


class Place:
    """A folder, the session whose warehouse lies in it, and dbt on both."""

    def __init__(self) -> None:
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        text = (ROOT / "profiles.yml.example").read_text()
        text = text.replace("PROJECT_FOLDER/.spark", f"{FOLDER}/spark")
        profile = yaml.safe_load(text.replace("PROJECT_FOLDER", str(ROOT)))
        output = profile["secure_datasets"]["outputs"]["local"]
        settings = output["server_side_parameters"]
        settings["spark.driver.memory"] = "4g"
        # What stands after the first -XX is for runs of the small sample.
        options = settings["spark.driver.extraJavaOptions"]
        settings["spark.driver.extraJavaOptions"] = options.split(" -XX:")[0]
        settings["spark.sql.shuffle.partitions"] = "8"
        (FOLDER / "profiles.yml").write_text(yaml.safe_dump(profile))
        self.spark: SparkSession = start_session(settings)

    def dbt(self, *arguments: str, raw_schema: str) -> dict[str, float]:
        """Run dbt; return the seconds of each node, or stop with its message."""
        variables = {"raw_schema": raw_schema, "summary": False}
        result = dbtRunner().invoke(
            [
                *arguments,
                "--quiet",
                *("--vars", yaml.safe_dump(variables)),
                *("--project-dir", str(ROOT), "--profiles-dir", str(FOLDER)),
                *("--target-path", str(FOLDER / "target")),
                *("--log-path", str(FOLDER / "logs")),
            ]
        )
        failed = [r for r in result.result or [] if r.status in ("error", "fail")]
        if result.exception or failed:
            sys.exit(f"dbt {arguments[0]}: {result.exception or failed[0].message}")
        return {r.node.name: r.execution_time for r in result.result}
