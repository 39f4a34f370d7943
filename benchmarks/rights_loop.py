"""What a revocation takes where a Spark Connect server is up already.

    python benchmarks/rights_loop.py

Builds the product's sample over a server on loopback. Then, in rounds, a membership
ends and `dbt run --selector rights` follows, as in a loop every minute; the same with
nothing new; and a command that only starts dbt. Prints the median seconds of each.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from dbt_secure_spark.versions import NAMED_VERSION

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "target" / "rights_loop"
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

from harness import LOOPBACK, Deployment, connect_server  # noqa: E402

ROUNDS = 5
RAW = "repository_sample.user_group_members"
STAGED = "secure_datasets.stg_user_group_members"
RIGHTS = ("run", "--selector", "rights")


def revoke(spark: SparkSession) -> int:
    """Let the first live membership end by one more row; return its id."""
    (member,) = spark.sql(
        f"select min(user_group_member_id) from {STAGED} where is_live"
    ).first()
    told = spark.sql(f"show create table {RAW}").first()[0].replace("`", "")
    newest = f"(select max(sf_date_created) from {RAW})"
    ends = {"is_active": "'false'", "date_modified": newest, "sf_date_created": newest}
    columns = ", ".join(
        f"{ends.get(name, name)} as {name}" for name in spark.table(RAW).columns
    )
    spark.sql(
        f"insert into {NAMED_VERSION.search(told)[0]} select distinct {columns}"
        f" from {RAW} where id = '{member}' and is_active = 'true'"
    )
    return member


def seconds(deployment: Deployment, *arguments: str) -> float:
    """Run dbt; return the seconds, or stop with what it printed."""
    started = time.monotonic()
    code, printed = deployment.dbt("--quiet", *arguments)
    if code:
        sys.exit(f"dbt {' '.join(arguments)}: {printed}")
    return time.monotonic() - started


def main() -> None:
    """Build, measure, and print a table."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with connect_server(FOLDER) as port:
        deployment = Deployment(FOLDER / "product", "connect")
        deployment.parameters["spark.remote"] = remote = f"sc://{LOOPBACK}:{port}"
        deployment.write_profile()
        seconds(deployment, "seed")
        taken: dict[str, list[float]] = {"dbt run": [seconds(deployment, "run")]}
        # The first run was too near to the seeds to know their files again.
        seconds(deployment, "run")
        spark = SparkSession.builder.remote(remote).getOrCreate()
        for _ in range(ROUNDS):
            start = seconds(deployment, "show", "--inline", "select 1 as one")
            taken.setdefault("starting dbt", []).append(start)
            nothing = seconds(deployment, *RIGHTS)
            taken.setdefault("rights, nothing new", []).append(nothing)
            member = revoke(spark)
            taken.setdefault("a revocation", []).append(seconds(deployment, *RIGHTS))
            of_member = f"select is_live from {STAGED} where user_group_member_id"
            if spark.sql(f"{of_member} = {member}").first()[0]:
                sys.exit(f"membership {member} did not end")
        spark.stop()
    start = statistics.median(taken["starting dbt"])
    for name, each in taken.items():
        median = statistics.median(each)
        print(f"| {name} | {median:.1f} s | {median / start:.2f}x |")


if __name__ == "__main__":
    main()
