"""How long the laws of the tiers take: on the sample, and on a larger world.

Prints a line for each law: seconds on the sample, seconds on the world. Run it with
`.venv/bin/python benchmarks/laws.py`; it leaves nothing behind but target/benchmark.
"""

from __future__ import annotations

import shutil
import time

from generate import Sizes, generate
from workspace import FOLDER, Workspace

WORLD = Sizes(
    users=5_000,
    grantees=4_000,
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
LAWS = "test_type:singular"


def main() -> None:
    """Measure both, and print the table."""
    workspace = Workspace()
    workspace.dbt("seed", raw_schema="repository_sample")
    seconds = {}
    generate(workspace.spark, "repository_benchmark", WORLD)
    for name in ("repository_sample", "repository_benchmark"):
        start = time.monotonic()
        workspace.dbt("run", raw_schema=name)
        print(f"dbt run on {name}: {time.monotonic() - start:.0f} s", flush=True)
        seconds[name] = workspace.dbt("test", "--select", LAWS, raw_schema=name)
    objects = WORLD.tables + WORLD.columns
    print(f"\nWorld: {WORLD.users:,} users, {objects:,} tables and columns.")
    print(f"{'law':64} {'sample':>8} {'world':>8}")
    for law, taken in seconds["repository_sample"].items():
        print(f"{law:64} {taken:8.1f} {seconds['repository_benchmark'][law]:8.1f}")
    shutil.rmtree(FOLDER)


if __name__ == "__main__":
    main()
