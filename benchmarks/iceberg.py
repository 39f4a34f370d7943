"""What it costs to publish the sample in Iceberg, against Parquet.

    python benchmarks/iceberg.py

Needs what `make test-lakehouse` sets up. Both are built in turns from the same seeds: a
first run, and one in which nothing is new. Then one user asks each secure dataset in
turns, in a session of each.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from lakehouse import PUBLISHED, VENV, Lakehouse

USER = 8
ROUNDS = 7
VARIABLES = ("--vars", "{raw_schema: repository_sample, summary: false}")
RUN = ("run", "--exclude", "tag:review", "tag:privileges", "tag:leaks", *VARIABLES)


def timed(lakehouse: Lakehouse, *arguments: str) -> float:
    """Run dbt; return how many seconds it took."""
    begun = time.monotonic()
    code, printed = lakehouse.dbt(*arguments)
    assert code == 0, printed[-4000:]
    return time.monotonic() - begun


def asked(lakehouse: Lakehouse) -> float:
    """Return the milliseconds of one user's query of all secure datasets, a median."""
    printed = lakehouse.python(Path(__file__), str(ROUNDS))
    return statistics.median(map(float, printed.split()))


def ask(folder: Path, rounds: int) -> None:
    """Print the milliseconds of each round, in the session of a profile."""
    from read_relations import session_of

    spark = session_of(folder)
    views = [
        f"{PUBLISHED}.{row.tableName}"
        for row in spark.sql(f"show tables in {PUBLISHED}").collect()
        if row.tableName.startswith("vw_secure_dataset_")
    ]
    # The first rounds compile the queries and read the files' heads.
    for number in range(rounds + 2):
        begun = time.monotonic()
        for view in views:
            spark.sql(f"select * from {view} where user_id = {USER}").collect()
        if number > 1:
            print(1000 * (time.monotonic() - begun))


def main() -> None:
    """Build both and ask; print a table."""
    print(f"Spark of {VENV.name}")
    with tempfile.TemporaryDirectory() as folder:
        both = {
            "Parquet": Lakehouse(Path(folder, "parquet")),
            "Iceberg": Lakehouse(Path(folder, "iceberg"), "lake"),
        }
        for what, measure in (
            ("seeds, s", lambda each: timed(each, "seed")),
            ("first run, s", lambda each: timed(each, *RUN)),
            ("run with nothing new, s", lambda each: timed(each, *RUN)),
            ("one user asks the secure datasets, ms", asked),
        ):
            found = (f"{name} {measure(each):.0f}" for name, each in both.items())
            print(f"{what}: {', '.join(found)}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        ask(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        main()
