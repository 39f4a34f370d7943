"""What a timeline costs, against resolving all access once.

    python benchmarks/timeline.py [NIGHTS [NAME=NUMBER ...]]      e.g. 250 users=5000

Generates the raw tables that decide access, at the sizes of generate.Sizes unless
others are named, and lets a loader bring them in so many nights: in one, if not said,
as in the world of bench.py. Then it resolves access once, from staging on, and asks for
the timelines of users and objects; each is told in seconds and as times of resolving.
dbt and Spark are started already, for all of them.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from dataclasses import replace

from generate import Sizes, tables, write
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from workspace import SCHEMA, Workspace

RAW_SCHEMA = "repository_timeline"
ACCESS_VIEWS = (
    "vw_secure_user_data_source_access",
    "vw_secure_user_project_access",
    "vw_secure_user_results_access",
)
DECIDING = (
    *("users", "user_global_roles", "user_groups", "user_group_members"),
    *("meta_data_sources", "data_source_permissions", "projects"),
    *("project_permissions", "project_data_sources", "reports", "report_permissions"),
)
# The sample's raw tables and mappings stay out: the world has its own.
OWN_SEEDS = ("--exclude", "secure_datasets.repository", "tarn_valley_bank.star")
FIRST_NIGHT = "2026-01-01"


def generate(spark: SparkSession, sizes: Sizes, nights: int) -> None:
    """Write the raw tables that decide access, each row loaded in one of the nights."""
    spark.sql(f"create schema if not exists {RAW_SCHEMA}")
    spark.sql("create schema if not exists one_night")
    night = F.date_add(
        F.lit(FIRST_NIGHT).cast("date"),
        F.pmod(F.xxhash64("id", F.lit("night")), F.lit(nights)).cast("int"),
    )
    for name in DECIDING:
        write(spark, "one_night", name, sizes)
        loaded = F.concat(night.cast("string"), F.lit(" 02:00:00"))
        spark.table(f"one_night.{name}").withColumn(
            "sf_date_created", loaded
        ).write.mode("overwrite").format("parquet").saveAsTable(f"{RAW_SCHEMA}.{name}")


def seconds(workspace: Workspace, *arguments: str) -> tuple[float, str]:
    """Call dbt; return the seconds and what it printed."""
    printed = io.StringIO()
    started = time.monotonic()
    with contextlib.redirect_stdout(printed):
        workspace.dbt(*arguments, raw_schema=RAW_SCHEMA)
    return time.monotonic() - started, printed.getvalue()


def users_to_ask(spark: SparkSession) -> dict[str, dict]:
    """Return the questions about a typical user, one with many rights and an admin."""
    median, many = spark.sql(
        f"""
        select min_by(user_id, abs(place - 0.5)), min_by(user_id, abs(place - 0.999))
        from (
            select user_id, percent_rank() over (order by count(*), user_id) as place
            from {SCHEMA}.vw_secure_user_data_source_access
            where access_type not like 'Global%'
            group by user_id
        )
        """
    ).first()
    (admin,) = spark.sql(
        f"select min(user_id) from {SCHEMA}.stg_user_global_roles"
        " where role_name = 'Global.Admin'"
    ).first()
    chosen = {"typical": median, "many rights": many, "admin": admin}
    return {kind: {"user": user_id} for kind, user_id in chosen.items()}


def main() -> None:
    """Measure, and print a line for each."""
    nights = int(sys.argv[1]) if sys.argv[1:] else 1
    given = dict(argument.split("=") for argument in sys.argv[2:])
    sizes = replace(Sizes(), **{name: int(number) for name, number in given.items()})
    assert set(DECIDING) <= set(tables(sizes))
    workspace = Workspace()
    seconds(workspace, "seed", *OWN_SEEDS)
    generate(workspace.spark, sizes, nights)
    # Once unmeasured.
    run = ("run", "--select", *(f"+{view}" for view in ACCESS_VIEWS))
    seconds(workspace, *run)
    resolving, _ = seconds(workspace, *run)
    print(f"resolving all access: {resolving:.1f} s", flush=True)
    asked = users_to_ask(workspace.spark) | {
        "a project": {"object": "Project 7"},
        "a data source": {"object": "Data Source 7"},
    }
    for kind, question in asked.items():
        arguments = json.dumps({**question, "format": "json"})
        taken, printed = seconds(
            workspace, "run-operation", "timeline", "--args", arguments
        )
        found = json.loads(printed)
        told = len(found["changes"]) + found["left_out"]
        print(
            f"{kind}: {told} changes, {taken:.1f} s, {taken / resolving:.2f}x",
            flush=True,
        )


if __name__ == "__main__":
    main()
