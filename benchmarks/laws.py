"""How long the laws of the tiers take: on the sample, and on a larger world.

Prints a line for each law: seconds on the sample, seconds on the world. Run it with
`.venv/bin/python benchmarks/laws.py`; it leaves nothing behind but target/benchmark.
"""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import yaml
from dbt.cli.main import dbtRunner
from generate import Sizes, generate

from dbt_spark_session.session import start_session

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "target" / "benchmark"
WORLD = Sizes(
    users=5_000,
    groups=200,
    data_sources=200,
    projects=300,
    admins=5,
    tables=20_000,
    columns=180_000,
    tests=10_000,
    executions=100_000,
    events=20_000,
)
LAWS = "path:tests/dbt"


def write_profile() -> dict:
    """Write a profile whose Spark lives in the folder; return its settings."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    text = (ROOT / "profiles.yml.example").read_text()
    text = text.replace("PROJECT_FOLDER/.spark", f"{FOLDER}/spark")
    profile = yaml.safe_load(text.replace("PROJECT_FOLDER", str(ROOT)))
    settings = profile["secure_datasets"]["outputs"]["local"]["server_side_parameters"]
    settings["spark.driver.memory"] = "4g"
    options = settings["spark.driver.extraJavaOptions"]
    settings["spark.driver.extraJavaOptions"] = options.split(" -XX:")[0]
    (FOLDER / "profiles.yml").write_text(yaml.safe_dump(profile))
    return settings


def dbt(*arguments: str, raw_schema: str) -> dict[str, float]:
    """Run dbt; return the seconds of each node, or stop with its message."""
    result = dbtRunner().invoke(
        [
            *arguments,
            "--quiet",
            *("--vars", f"{{raw_schema: {raw_schema}, summary: false}}"),
            *("--project-dir", str(ROOT), "--profiles-dir", str(FOLDER)),
            *("--target-path", str(FOLDER / "target")),
        ]
    )
    failed = [r for r in result.result or [] if r.status in ("error", "fail")]
    if result.exception or failed:
        sys.exit(f"dbt {arguments[0]}: {result.exception or failed[0].message}")
    return {r.node.name: r.execution_time for r in result.result}


def main() -> None:
    """Measure both, and print the table."""
    spark = start_session(write_profile())
    dbt("seed", raw_schema="repository_sample")
    seconds = {}
    generate(spark, "repository_benchmark", WORLD)
    for name in ("repository_sample", "repository_benchmark"):
        start = time.monotonic()
        dbt("run", raw_schema=name)
        print(f"dbt run on {name}: {time.monotonic() - start:.0f} s", flush=True)
        seconds[name] = dbt("test", "--select", LAWS, raw_schema=name)
    objects = WORLD.tables + WORLD.columns
    print(f"\nWorld: {WORLD.users:,} users, {objects:,} tables and columns.")
    print(f"{'law':64} {'sample':>8} {'world':>8}")
    for law, taken in seconds["repository_sample"].items():
        print(f"{law:64} {taken:8.1f} {seconds['repository_benchmark'][law]:8.1f}")
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
