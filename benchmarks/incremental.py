"""What staging costs where few executions are new.

    python benchmarks/incremental.py [NAME=NUMBER ...]

Generates a world (the names are those of generate.Sizes). In each round one execution
in 400 more is delivered: half of them new, half of them anew with a later time. A run
stages the executions, copying those without a new delivery, and one with
`--full-refresh` stages all; the rows must be equal. The seconds are those of dbt's
nodes, without starting: each also looks at the raw table's files and rows.

At the end it counts the rows of the base that the last delivery changed: executions are
numbered within their test.
"""

from __future__ import annotations

import shutil
import statistics
import sys

from bench import OWN_SEEDS, RAW_SCHEMA, sizes_of
from generate import generate
from measure import ROUNDS
from pyspark.sql import SparkSession
from workspace import FOLDER, SCHEMA, Workspace

from dbt_secure_spark import raw_files

STAGED, BASE = "stg_test_executions", "vw_dataset_test_executions"
RAW = f"{RAW_SCHEMA}.test_executions"
SHARE = 400
TEST = "test_id"
WAYS = {"whole": ["--full-refresh"], "new rows, and the others copied": []}


def deliver(spark: SparkSession, executions: int, number: int) -> None:
    """Add a delivery to the raw table, the next by its number."""
    columns = spark.table(RAW).columns
    half = executions // SHARE // 2
    later = f"'2027-01-{number:02d} 02:00:00'"
    told = {
        "id": f"if(id <= {half}, id, id + {executions} + {(number - 2) * half})",
        "date_modified": later,
        "sf_date_created": later,
    }
    listed = ", ".join(f"{told.get(name, name)} as {name}" for name in columns)
    new = spark.sql(f"select {listed} from {RAW} where id <= {2 * half}")
    types = spark.table(RAW).dtypes
    new = new.select([new[name].cast(kind) for name, kind in types])
    new.write.mode("overwrite").saveAsTable("delivery")
    spark.table("delivery").write.insertInto(RAW)


def main() -> None:
    """Measure, compare the rows, and print a table."""
    sizes = sizes_of(sys.argv[1:])
    # No other file is written in the second of one that is read.
    raw_files.SETTLED = -3_600_000_000
    workspace = Workspace()
    spark = workspace.spark
    workspace.dbt("seed", *OWN_SEEDS, raw_schema=RAW_SCHEMA)
    generate(spark, RAW_SCHEMA, sizes)
    workspace.dbt("run", "--select", f"+{BASE}", raw_schema=RAW_SCHEMA)
    taken: dict[str, list[float]] = {way: [] for way in WAYS}
    rows: dict[str, list[tuple]] = {}
    counted = "select count(*), bit_xor(xxhash64(*)), sum(xxhash64(*) % 1000003) from"
    for number in range(1, ROUNDS + 1):
        deliver(spark, sizes.executions, number)
        for way, options in [*WAYS.items()][::-1]:
            chosen = ("run", "--select", STAGED, *options)
            taken[way].append(workspace.dbt(*chosen, raw_schema=RAW_SCHEMA)[STAGED])
            rows[way] = spark.sql(f"{counted} {SCHEMA}.{STAGED}").collect()
        if len({*map(str, rows.values())}) != 1:
            sys.exit(f"the rows differ: {rows}")
    print(f"{sizes.executions:,} executions, {sizes.executions // SHARE:,} delivered")
    seconds = {way: statistics.median(of_way) for way, of_way in taken.items()}
    for way, of_way in seconds.items():
        print(f"| {way} | {of_way:.1f} s | {of_way / seconds['whole']:.2f}x |")
    (changed,) = spark.sql(
        f"select count_if({TEST} in (select {TEST} from delivery)) / count(*)"
        f" from {SCHEMA}.{STAGED}"
    ).first()
    print(f"{changed:.0%} of the base's rows are of a test with a delivered execution")
    shutil.rmtree(FOLDER / "spark")


if __name__ == "__main__":
    main()
