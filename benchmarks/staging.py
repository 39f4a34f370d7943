"""What staging the largest raw table costs, and where its seconds go.

    python benchmarks/staging.py [NAME=NUMBER ...]

Generates a world (the names are those of generate.Sizes), stages its test executions,
and only reads and writes the same rows, in turns. Then reads them up to each step of
the staging query, and writes nothing; and once with no look for equally new deliveries
that say different things.
"""

from __future__ import annotations

import shutil
import sys
import time

from bench import OWN_SEEDS, RAW_SCHEMA, in_turns, only_written, reading, sizes_of
from generate import generate
from workspace import FOLDER, Workspace

STAGED = "stg_test_executions"
RAW = f"{RAW_SCHEMA}.test_executions"
# What each step has done, by the CTE that it ends with.
STEPS = {
    "deliveries": "read, each value as a text",
    "dated": "and told how new each delivery is",
    "ranked": "and sorted by id, and ranked",
    "trimmed": "and trimmed",
    "typed": "and read in their types",
    "judged": "and judged",
}
CONFLICT = "min(delivery) over equally_new != max(delivery) over equally_new"


def main() -> None:
    """Measure, and print a table."""
    sizes = sizes_of(sys.argv[1:])
    workspace = Workspace()
    spark = workspace.spark
    workspace.dbt("seed", *OWN_SEEDS, raw_schema=RAW_SCHEMA)
    generate(spark, RAW_SCHEMA, sizes)

    def stage() -> float:
        # What holds what it held is not staged again, unless told.
        options = ("--full-refresh", "--select", STAGED)
        return workspace.dbt("run", *options, raw_schema=RAW_SCHEMA)[STAGED]

    def write() -> float:
        started = time.monotonic()
        only_written(spark.table(RAW))
        return time.monotonic() - started

    taken = in_turns({"staging": stage, "only reading and writing": write}, rounds=3)
    written = taken["only reading and writing"]
    compiled = FOLDER / "target/local/compiled/secure_datasets/models/staging"
    query = (compiled / f"{STAGED}.sql").read_text()
    steps, _, _ = query.rpartition("\nselect\n")
    asked = {does: f"{steps} select * from {step}" for step, does in STEPS.items()}
    if CONFLICT not in query:
        sys.exit(f"{STAGED} looks for equally new deliveries by another expression")
    asked["judged, with no look for conflicts"] = (
        f"{steps} select * from judged".replace(CONFLICT, "false")
    )
    works = {name: reading(spark, each) for name, each in asked.items()}
    taken |= in_turns(works, rounds=1)
    print(f"{sizes.executions:,} rows of {len(spark.table(RAW).columns)} columns")
    for name, seconds in taken.items():
        print(f"| {name} | {seconds:.1f} s | {seconds / written:.2f}x |")
    shutil.rmtree(FOLDER / "spark")


if __name__ == "__main__":
    main()
