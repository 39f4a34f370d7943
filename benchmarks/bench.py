"""Measure the cost of secure datasets, and compare it.

    python benchmarks/bench.py [NAME=NUMBER ...]      e.g. tables=40000 columns=400000

Generates a world (the names are those of generate.Sizes), runs dbt on it, and measures
in one run, what is compared in turns: secure datasets against filters by hand, plain
views, ten times the users, DuckDB, PostgreSQL; resolving against writing.
Prints tables; writes them, JSON and a plot into target/benchmark/results, the JSON
after each part.

The secure datasets are always measured; `PARTS="growth postgres"` in the environment
leaves out all other comparisons than these, and `PARTS=` all. At the end it names the
ratios that differ from those kept in ratios.json; `KEEP=1` keeps those of this run.
"""

from __future__ import annotations

import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import time
from dataclasses import asdict, fields, replace
from pathlib import Path

import alternatives
import duckdb_resolution
import plain_views
import postgres
import report
from generate import (
    Sizes,
    generate,
    generate_mappings,
    generate_with_more_users,
)
from measure import in_turns, reading, rows_read
from policies import add_datasets
from pyspark.sql import DataFrame, SparkSession
from queries import (
    BASES,
    DATASETS,
    TIERS,
    Rights,
    by_hand,
    keys_of,
    secure,
    users_to_ask,
)
from workspace import FOLDER, GROWN_SCHEMA, SCHEMA, Workspace

# The parts that may be left out, in the order of measuring. Plain views come last: of
# one, the driver plans more than of all else together.
PARTS = (
    *("resolution", "unfiltered", "growth", "alternatives", "postgres"),
    "plain_views",
)
RESOLVED = (
    "int_user_group_ancestors",
    "int_user_group_memberships",
    "int_access_paths",
    "vw_secure_user_data_source_access",
    "vw_secure_user_project_access",
    "vw_secure_user_results_access",
)
ACCESS_VIEWS = RESOLVED[-3:]
# Those whose rows are brought together by user.
BY_USER = RESOLVED[-4:]
# The sample's raw tables and mappings stay out: the world has its own.
OWN_SEEDS = (
    "--exclude",
    *("secure_datasets.repository", "tarn_valley_bank.repository"),
    "tarn_valley_bank.star",
)
# The ratios of the run whose figures were kept.
LAST = Path(__file__).with_name("ratios.json")
ONLY_WRITTEN = "only_written"
RAW_SCHEMA = "repository_benchmark"
RAW_GROWN_SCHEMA = "repository_grown"
Measured = dict[str, float]


def readers(spark: SparkSession, users: list[Rights], rows: dict) -> list[dict]:
    """Each kind of user through each tier, against the filter by hand."""
    works, counts = {}, {}
    for rights in users:
        for dataset in DATASETS:
            asked = {
                "secure": secure(dataset, rights.user_id),
                "by_hand": by_hand(dataset, rights),
            }
            found = {name: spark.sql(query).count() for name, query in asked.items()}
            if len(set(found.values())) != 1:
                sys.exit(f"{dataset}, {rights.kind} user: the rows differ: {found}")
            # An access view has three columns, or four.
            counts[rights.kind, dataset] = {
                "rows": found["secure"],
                "rows_read": rows_read(spark, asked["secure"], columns=6),
                "keys": keys_of(dataset, rights),
            }
            for name, query in asked.items():
                works[rights.kind, dataset, name] = reading(spark, query)
    # In one: whoever is asked first must not pay for warming up.
    seconds = in_turns(works)
    measured = []
    for (user, dataset), found in counts.items():
        taken = {name: seconds[user, dataset, name] for name in ("secure", "by_hand")}
        measured.append(
            {"dataset": dataset, "tier": DATASETS[dataset], "user": user}
            | found
            | {"base_rows": rows[dataset], "seconds": taken}
        )
        report.say_reading(measured[-1])
    return measured


def through_plain_views(spark: SparkSession, typical: Rights) -> dict[str, Measured]:
    """The typical user through the same models, with nothing stored.

    Planning one such query takes most of its time, so after the first it is measured
    once. Only the data source tier is asked: planning the project tier's took more
    than the driver's heap.
    """
    datasets, measured = ("tables", "columns"), {}
    plain_views.create_views(spark, [f"vw_secure_dataset_{each}" for each in datasets])
    for dataset in datasets:
        query = secure(dataset, typical.user_id)
        plain = query.replace(f"{SCHEMA}.", plain_views.view_name(""))
        works = {"secure": reading(spark, query), "plain": reading(spark, plain)}
        measured[dataset] = in_turns(works, rounds=1)
        report.say_plain_views(dataset, measured[dataset])
    return measured


def growth(workspace: Workspace, sizes: Sizes, typical: Rights) -> dict:
    """The typical user's queries again with ten times the users on the same base.

    The queries are those of the secure datasets, with the grown access views in the
    place of theirs.
    """
    spark = workspace.spark
    grown = replace(sizes, users=sizes.users * 10)
    generate_with_more_users(spark, RAW_GROWN_SCHEMA, grown, RAW_SCHEMA)
    where = {"raw_schema": RAW_GROWN_SCHEMA, "target": "grown"}
    workspace.dbt("seed", *OWN_SEEDS, **where)
    selected = [f"+{view}" for view in ACCESS_VIEWS]
    workspace.dbt("run", "--select", *selected, **where)
    measured = {"users": grown.users, "seconds": {}}
    reader = workspace.reader()
    grown_access = {
        version_of(spark, f"{SCHEMA}.{view}"): version_of(
            spark, f"{GROWN_SCHEMA}.{view}"
        )
        for view in ACCESS_VIEWS
    }
    for dataset in TIERS:
        secured = f"{SCHEMA}.vw_secure_dataset_{dataset}"
        text = text_of_view(spark, secured)
        for version, of_grown in grown_access.items():
            text = text.replace(version, of_grown)
        query = secure(dataset, typical.user_id)
        works = {
            "as_it_was": query,
            "grown": query.replace(secured, f"({text})"),
        }
        if len({reader.sql(query).count() for query in works.values()}) != 1:
            sys.exit(f"{dataset}: the typical user's rows changed with the other users")
        measured["seconds"][dataset] = in_turns(
            {name: reading(reader, query) for name, query in works.items()}
        )
        report.say_growth(dataset, measured["seconds"][dataset])
    return measured


def text_of_view(spark: SparkSession, view: str) -> str:
    """Return the query of a view."""
    told = spark.sql(f"describe extended {view}").collect()
    return next(row[1] for row in told if row[0] == "View Text")


def version_of(spark: SparkSession, view: str) -> str:
    """Return the version that the view of a stored relation reads."""
    (version,) = re.findall(r"\w+\.\w+__v\d+_\w+", text_of_view(spark, view))
    return version


def unfiltered(spark: SparkSession, users: int, rows: dict) -> dict:
    """Measure a whole secure dataset: the cost of forgetting the user."""
    query = f"select * from {SCHEMA}.vw_secure_dataset_tables"
    base = f"select * from {SCHEMA}.vw_dataset_tables"
    whole = spark.sql(query).count()
    return {
        "dataset": "tables",
        "users": users,
        "base_rows": rows["tables"],
        "rows": whole,
        "seconds": in_turns(
            {"secure": reading(spark, query), "base": reading(spark, base)}, rounds=3
        ),
    }


def only_written(rows: DataFrame) -> None:
    """Write rows, as they come, into a table that is there for nothing else."""
    rows.write.mode("overwrite").format("parquet").saveAsTable(ONLY_WRITTEN)


def resolution(workspace: Workspace) -> dict:
    """Resolving access, against only writing the same rows, and against DuckDB.

    One model after the other, as the rows are written, in the layout of the models.
    """
    spark = workspace.spark

    def resolve() -> float:
        options = ("--threads", "1", "--select", *RESOLVED)
        nodes = workspace.dbt("run", *options, raw_schema=RAW_SCHEMA)
        return sum(nodes.values())

    def write() -> float:
        started = time.monotonic()
        for name in RESOLVED:
            rows = spark.table(f"{SCHEMA}.{name}")
            if name in BY_USER:
                rows = rows.repartition("user_id").sortWithinPartitions("user_id")
            only_written(rows)
        return time.monotonic() - started

    found: dict[str, int] = {}

    def in_duckdb() -> float:
        taken, rows = duckdb_resolution.resolve(spark, FOLDER)
        found.update(rows)
        return taken

    works = {"resolve": resolve, "only_write": write, "duckdb": in_duckdb}
    seconds = in_turns(works, rounds=3)
    spark.sql(f"drop table {ONLY_WRITTEN}")
    rows = {name: spark.table(f"{SCHEMA}.{name}").count() for name in RESOLVED}
    if found != {name: rows[name] for name in ACCESS_VIEWS}:
        sys.exit(f"DuckDB resolves other rows: {found}, here {rows}")
    return {"rows": rows, "seconds": seconds}


def in_postgres(spark: SparkSession, users: list[Rights]) -> list[dict]:
    """Row-level security of PostgreSQL against its own filter by hand."""
    measured = []
    with postgres.server(FOLDER) as connection:
        postgres.load(spark, connection, FOLDER)
        for rights in users:
            for dataset, (secured, hand) in postgres.queries(rights).items():
                works = {
                    "row_security": lambda q=secured, u=rights.user_id: (
                        postgres.seconds(connection, q, u)
                    ),
                    "by_hand": lambda q=hand: postgres.seconds(connection, q, None),
                }
                measured.append(
                    {"dataset": dataset, "tier": TIERS[dataset], "user": rights.kind}
                    | {"seconds": in_turns(works)}
                )
                report.say_postgres(measured[-1])
    return measured


def beside_alternatives(spark: SparkSession, typical: Rights) -> dict[str, Measured]:
    """The typical user's rows by other ways over the same files, in one turn each."""
    duckdb, measured = alternatives.in_duckdb(FOLDER), {}
    in_sail = alternatives.in_sail(FOLDER, TIERS, typical.user_id)
    for dataset in TIERS:
        queries = {"by_hand": by_hand(dataset, typical)}
        queries |= alternatives.in_spark(dataset, typical.user_id)
        found = {name: spark.sql(query).count() for name, query in queries.items()}
        found["duckdb"], in_duckdb = duckdb(dataset, typical.user_id)
        sail = in_sail.get(dataset, {})
        if "rows" in sail:
            found["sail"] = sail["rows"]
        elif sail:
            report.say(f"Sail: {dataset}: {sail['error'].splitlines()[0]}")
        if len({*found.values()}) != 1:
            sys.exit(f"{dataset}, the typical user: the rows differ: {found}")
        works = {name: reading(spark, query) for name, query in queries.items()}
        measured[dataset] = in_turns(works | {"duckdb": in_duckdb})
        if "rows" in sail:
            measured[dataset]["sail"] = sail["seconds"]
        report.say_alternatives(dataset, measured[dataset])
    return measured


def memory_of_the_driver(spark: SparkSession) -> dict[str, int]:
    """The heap allowed to the driver, and the most that it and dbt's Python resided in.

    In bytes; the JVM's is read where Linux tells it.
    """
    jvm = spark._jvm.java.lang
    status = Path(f"/proc/{jvm.ProcessHandle.current().pid()}/status").read_text()
    return {
        "heap_allowed": jvm.Runtime.getRuntime().maxMemory(),
        "jvm_peak": int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024,
        "python_peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def machine() -> dict[str, str]:
    """Return the machine that it ran on."""
    cpu = subprocess.run(["lscpu"], capture_output=True, text=True).stdout
    name = [line.split(":")[1] for line in cpu.splitlines() if "Model name" in line]
    return {
        "cpu": name[0].strip() if name else platform.processor(),
        "cores": str(len(os.sched_getaffinity(0))),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def sizes_of(arguments: list[str]) -> Sizes:
    """Read NAME=NUMBER arguments; stop at what is no size."""
    known = {field.name for field in fields(Sizes)}
    given = {}
    for argument in arguments:
        name, _, number = argument.partition("=")
        if name not in known or not number.isdigit():
            sys.exit(f"{argument}: give NAME=NUMBER; the names are {', '.join(known)}")
        given[name] = int(number)
    sizes = replace(Sizes(), **given)
    if sizes.grantees > sizes.users:
        sys.exit(f"grantees={sizes.grantees}: they are users, of whom there are fewer")
    return sizes


def parts_of(named: list[str]) -> list[str]:
    """Return the named parts in the order of measuring; stop at what is no part."""
    if unknown := set(named) - set(PARTS):
        told = ", ".join(sorted(unknown))
        sys.exit(f"PARTS: {told}: name some of {', '.join(PARTS)}")
    return [part for part in PARTS if part in named]


def main() -> None:
    """Measure everything, or what is asked for, and write it down."""
    sizes = sizes_of(sys.argv[1:])
    parts = parts_of(os.environ.get("PARTS", " ".join(PARTS)).split())
    workspace = Workspace(add_datasets)
    spark = workspace.spark
    workspace.dbt("seed", *OWN_SEEDS, raw_schema=RAW_SCHEMA)
    started = time.monotonic()
    generate(spark, RAW_SCHEMA, sizes)
    generate_mappings(spark, SCHEMA, sizes)
    generated = time.monotonic() - started
    started = time.monotonic()
    nodes = workspace.dbt("run", raw_schema=RAW_SCHEMA)
    ran = time.monotonic() - started
    # A version is laid out by the rows of the one before: the first by none.
    laid_out = ("tag:access", "tag:datasets", *BASES.values(), "tag:secure")
    workspace.dbt("run", "--select", *laid_out, raw_schema=RAW_SCHEMA)
    report.say(f"generated in {generated:.0f} s, dbt run {ran:.0f} s")
    users = users_to_ask(spark)
    rows = {
        name: spark.table(f"{SCHEMA}.{base}").count() for name, base in BASES.items()
    }
    results = {
        "machine": machine(),
        "sizes": asdict(sizes),
        "seconds": {"generate": generated, "dbt run": ran},
        "run_seconds": nodes,
        "users": [
            {"kind": rights.kind, "data_sources": len(rights.data_sources)}
            | {"projects": len(rights.projects), "results": len(rights.results)}
            for rights in users
        ],
    }
    measures = {
        "readers": lambda: readers(workspace.reader(), users, rows),
        # The memory of the project alone, before the comparisons.
        "memory": lambda: memory_of_the_driver(spark),
        "resolution": lambda: resolution(workspace),
        "unfiltered": lambda: unfiltered(spark, sizes.users, rows),
        "growth": lambda: growth(workspace, sizes, users[0]),
        "alternatives": lambda: beside_alternatives(workspace.reader(), users[0]),
        "postgres": lambda: in_postgres(spark, users),
        "plain_views": lambda: through_plain_views(spark, users[0]),
    }
    for part in ("readers", "memory", *parts):
        results[part] = measures[part]()
        report.save(results, FOLDER / "results")
    report.tell(results, FOLDER / "results")
    report.hold(results, LAST, keep=os.environ.get("KEEP") == "1")
    shutil.rmtree(FOLDER / "spark")


if __name__ == "__main__":
    main()
