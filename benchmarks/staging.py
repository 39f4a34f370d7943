"""What staging the largest raw table costs, and where its seconds go.

    python benchmarks/staging.py [NAME=NUMBER ...]

Generates a world (the names are those of generate.Sizes), stages its test executions,
as texts and with the types that staging gives them, and only reads and writes the same
rows, in turns. Then reads the texts up to each step of the staging query, and writes
nothing; and once with no look for equally new deliveries that say different things.
"""

from __future__ import annotations

import shutil
import sys
import time
from functools import partial

from bench import OWN_SEEDS, RAW_SCHEMA, only_written, sizes_of
from generate import generate
from measure import in_turns, reading
from pyspark.sql import SparkSession
from workspace import FOLDER, SCHEMA, Workspace

STAGED = "stg_test_executions"
TABLE = "test_executions"
# The same raw table, as text and with types.
TYPED_SCHEMA = f"{RAW_SCHEMA}_typed"
# What each step has done, by the CTE that it ends with.
STEPS = {
    "deliveries": "read, each value as a text",
    "dated": "and told how new each delivery is",
    "ranked": "and sorted by id, and ranked",
    "typed": "and read in their types",
    "judged": "and judged",
}
ONLY = "only reading and writing"
COMPILED = FOLDER / "target/local/compiled/secure_datasets/models/staging"
CONFLICT = "min(delivery) over newest_first != max(delivery) over newest_first"


def type_rows(spark: SparkSession) -> None:
    """Make the raw table once more, each column in the type that staging gives it."""
    types = dict(spark.table(f"{SCHEMA}.{STAGED}").dtypes)
    types |= {"id": "bigint", "is_active": "boolean"}
    columns = spark.table(f"{RAW_SCHEMA}.{TABLE}").columns
    cast = ", ".join(f"try_cast({name} as {types[name]}) as {name}" for name in columns)
    spark.sql(f"create schema if not exists {TYPED_SCHEMA}")
    spark.sql(f"drop table if exists {TYPED_SCHEMA}.{TABLE}")
    rows = spark.sql(f"select {cast} from {RAW_SCHEMA}.{TABLE}")
    rows.write.format("parquet").saveAsTable(f"{TYPED_SCHEMA}.{TABLE}")


def main() -> None:
    """Measure, and print a table."""
    sizes = sizes_of(sys.argv[1:])
    workspace = Workspace()
    spark = workspace.spark
    workspace.dbt("seed", *OWN_SEEDS, raw_schema=RAW_SCHEMA)
    generate(spark, RAW_SCHEMA, sizes)

    def staged(schema: str) -> float:
        # What holds what it held is not staged again, unless told.
        options = ("--full-refresh", "--select", STAGED)
        return workspace.dbt("run", *options, raw_schema=schema)[STAGED]

    def written(schema: str) -> float:
        started = time.monotonic()
        only_written(spark.table(f"{schema}.{TABLE}"))
        return time.monotonic() - started

    def query(schema: str) -> str:
        staged(schema)
        return (COMPILED / f"{STAGED}.sql").read_text()

    texts = query(RAW_SCHEMA)
    type_rows(spark)
    typed = query(TYPED_SCHEMA)
    works = {
        f"{does}, {kind}": partial(work, schema)
        for kind, schema in (("text", RAW_SCHEMA), ("typed", TYPED_SCHEMA))
        for does, work in (("staging", staged), (ONLY, written))
    }
    taken = in_turns(works, rounds=3)
    steps, _, _ = texts.rpartition("\nselect\n")
    asked = {does: f"{steps} select * from {step}" for step, does in STEPS.items()}
    if CONFLICT not in texts:
        sys.exit(f"{STAGED} looks for equally new deliveries by another expression")
    asked["judged, with no look for conflicts"] = (
        f"{steps} select * from judged".replace(CONFLICT, "false")
    )
    works = {name: reading(spark, each) for name, each in asked.items()}
    taken |= in_turns(works, rounds=1)
    columns = spark.table(f"{RAW_SCHEMA}.{TABLE}").columns
    print(f"{sizes.executions:,} rows of {len(columns)} columns")
    for name, seconds in taken.items():
        of = taken[f"{ONLY}, {'typed' if name.endswith('typed') else 'text'}"]
        print(f"| {name} | {seconds:.1f} s | {seconds / of:.2f}x |")
    for kind, each in (("text", texts), ("typed", typed)):
        plan = spark.sql(each)._jdf.queryExecution().executedPlan().toString()
        print(f"the plan, {kind}: {len(plan):,} characters")
    shutil.rmtree(FOLDER / "spark")


if __name__ == "__main__":
    main()
