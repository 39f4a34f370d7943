"""What the questions of administrators cost: who, why, diff, timeline, as-of, review.

    python benchmarks/questions.py [NAME=NUMBER ...]      e.g. users=5000 grantees=4000

Generates a world of the sizes of bench.py, unless others are named (as in
generate.Sizes), which a loader brought in so many nights: one, if not said. A few
grants, and the end of a few memberships, came in a later load. Then it runs dbt on it,
once whole; once more with nothing new; after one new row in each of some raw tables,
what hangs on it; after one more membership has ended, the selector `rights`.

It asks each question by the command `secure-datasets`, in a process of its own: twice
over the published files, and once in Spark. RUNS=0 leaves out what dbt runs beyond the
first run and the input of reviews; QUESTIONS=0 leaves out all but that. Each command's
seconds stand beside those of the whole run and of a command that only starts dbt and
Spark; its peak memory is that of the process and all below it.

Prints a line for each, and at the end two tables, which are also written, with JSON,
into target/benchmark/results. A command that fails has a line, and the exit code is
then 1.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import yaml
from generate import Sizes, generate, generate_mappings
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from queries import users_to_ask
from workspace import FOLDER, PROJECT, SAMPLE, SCHEMA, Workspace

from dbt_secure_spark.session import start_session

RAW_SCHEMA = "repository_questions"
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
OWN_SEEDS = (
    "--exclude",
    *("secure_datasets.repository", "tarn_valley_bank.repository"),
    "tarn_valley_bank.star",
)
# No load time may lie in the future of any clock that this runs by.
FIRST_NIGHT, LAST_LOAD = "2024-01-01", "2025-01-02 02:00:00"
REVOKED_AT = "2025-01-03 02:00:00"
AS_OF = "2025-01-01 00:00:00"
AS_OF_SCHEMA = f"{SCHEMA}_as_of_20250101_000000"
MOST_NIGHTS = 365
NEWEST = "2027-01-01 00:00:00"
TARGET = FOLDER / "target" / "questions"
# What dbt knew of the newest rows before.
KNOWN = FOLDER / "target" / "known"
FRESH = ("users", "tests", "test_executions")
# More than any of them takes, so that nothing hangs for ever.
LONGEST = 3600
# The exit code of an answer that is no, as of a row that is not seen.
NO = 1
# The commands that Spark answers too.
ASKED_OF_SPARK = ("who", "why", "review")
RUNS = os.environ.get("RUNS", "1") != "0"
QUESTIONS = os.environ.get("QUESTIONS", "1") != "0"
# In seconds. The files of a younger raw table are not known yet: its rows are hashed.
SETTLED = 60
VARIABLES = {
    "raw_schema": RAW_SCHEMA,
    "summary": False,
    "feeds": {},
}
WITHOUT_TESTS = (
    *("--exclude-resource-type", "test"),
    *("--exclude-resource-type", "unit_test"),
)
START = "starting dbt and Spark"
RUN = "dbt run"
# The first run does not know how many rows a base has, and lays none out in folders.
SECOND = "dbt run again, which lays out what is large"
UNCHANGED = "dbt run, with no new row"
HANGS_ON = "what hangs on a new row in {}"
REVOKED = "a revocation, until the secure datasets are switched"
BOTH = "reading the access views of two states"
CHANGED = "finding whose access has changed between them"
REVIEWED = "building what a review reads"
MIB = 1024 * 1024


@dataclass
class Measured:
    """What one command took."""

    what: str
    seconds: float
    peak: int
    problem: str | None = None


@dataclass
class Asked:
    """What one question took: twice over the files, and in Spark where it can be."""

    first: Measured
    again: Measured
    spark: Measured | None


# ---------------------------------------------------------------------------
# The world, in processes that end before dbt needs the metastore
# ---------------------------------------------------------------------------


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a process of its own, and wait for the end of its JVM."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments).result()


@contextmanager
def session() -> Iterator[SparkSession]:
    """Give the session of the workspace, and end it with its JVM."""
    profiles = yaml.safe_load((FOLDER / "profiles.yml").read_text())
    output = profiles[SAMPLE]["outputs"]["local"]
    try:
        yield start_session(output["server_side_parameters"])
    finally:
        end_of_spark()


def end_of_spark() -> None:
    """End this process's session and its JVM: the metastore serves one process."""
    process = SparkContext._gateway.proc
    SparkContext._active_spark_context.stop()
    SparkContext._gateway.shutdown()
    process.stdin.close()
    process.wait(timeout=60)


def prepare(sizes: Sizes, nights: int) -> None:
    """Make the workspace, and the world in it."""
    workspace = Workspace(name_raw_tables)
    workspace.dbt("seed", *OWN_SEEDS, raw_schema=RAW_SCHEMA)
    generate(workspace.spark, RAW_SCHEMA, sizes)
    generate_mappings(workspace.spark, SCHEMA, sizes)
    for name in DECIDING:
        load_in_nights(workspace.spark, name, nights)
    load_later(workspace.spark, sizes)
    end_of_spark()


def name_raw_tables(project: Path) -> None:
    """Write the variables into the project, as a customer has them."""
    path = project / "dbt_project.yml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8"))
    settings["vars"] |= VARIABLES
    path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")


def load_in_nights(spark: SparkSession, name: str, nights: int) -> None:
    """Let each row of a raw table have come in one of the nights."""
    night = F.date_add(
        F.lit(FIRST_NIGHT).cast("date"),
        F.pmod(F.xxhash64("id", F.lit("night")), F.lit(nights)).cast("int"),
    )
    loaded = F.concat(night.cast("string"), F.lit(" 02:00:00"))
    rows = spark.table(f"{RAW_SCHEMA}.{name}").withColumn("sf_date_created", loaded)
    # A table can't be overwritten while it is read.
    rows = rows.localCheckpoint()
    rows.write.mode("overwrite").format("parquet").saveAsTable(f"{RAW_SCHEMA}.{name}")


def load_later(spark: SparkSession, sizes: Sizes) -> None:
    """Let twenty grants come and five memberships end, in a load after all nights."""
    user = F.pmod(F.xxhash64("id"), F.lit(sizes.grantees)) + 1
    grants = (
        delivered_again(spark, "data_source_permissions", "<= 20", LAST_LOAD)
        .withColumn("id", F.concat(F.lit("9000000"), "id"))
        .withColumn("user_id", user.cast("string"))
        .withColumn("user_group_id", F.lit(None).cast("string"))
    )
    load(spark, "data_source_permissions", grants)
    load(spark, "user_group_members", ended_memberships(spark, "<= 5", LAST_LOAD))


def bring_row(name: str) -> None:
    """Let one row of a raw table come again, an hour after all others."""
    with session() as spark:
        newest = F.max(F.to_timestamp("sf_date_created")) + F.expr("interval 1 hour")
        (loaded,) = spark.table(f"{RAW_SCHEMA}.{name}").agg(newest).first()
        load(spark, name, delivered_again(spark, name, "= 7", str(loaded)))


def revoke() -> None:
    """Let one more membership end, in a load after those."""
    with session() as spark:
        ended = ended_memberships(spark, "= 6", REVOKED_AT)
        load(spark, "user_group_members", ended)


def delivered_again(spark: SparkSession, name: str, which: str, loaded: str) -> Any:
    """Return rows of a raw table, by their ids, as a later load brings them."""
    return (
        spark.table(f"{RAW_SCHEMA}.{name}")
        .where(f"cast(id as bigint) {which}")
        .withColumn("sf_date_created", F.lit(loaded))
        .withColumn("date_modified", F.lit(NEWEST))
    )


def ended_memberships(spark: SparkSession, which: str, loaded: str) -> Any:
    """Return memberships, by their ids, as they end with a later load."""
    rows = delivered_again(spark, "user_group_members", which, loaded)
    return rows.withColumn("is_active", F.lit("false")).dropDuplicates(["id"])


def load(spark: SparkSession, name: str, rows: Any) -> None:
    """Add rows to a raw table. One that is read can't be written."""
    rows.localCheckpoint().write.insertInto(f"{RAW_SCHEMA}.{name}")


def check_switched() -> None:
    """Raise unless a secure dataset reads the rights that are published now."""
    with session() as spark:
        access, secure = (
            spark.sql(f"show create table {SCHEMA}.{view}").first()[0].split(" AS ")[-1]
            for view in (ACCESS_VIEWS[0], "vw_secure_dataset_tables")
        )
    (version,) = re.findall(r"\w+__v\d+_\w+", access)
    if version not in secure:
        raise RuntimeError(f"the secure dataset of tables does not read {version}")


def questions() -> dict[str, list[str]]:
    """Return the command of each question, by its words."""
    with session() as spark:
        users = {rights.kind: rights for rights in users_to_ask(spark)}
        tests = (
            f"select min(test_id) from {SCHEMA}.vw_secure_dataset_tests where user_id ="
        )
        typical, admin = str(users["typical"].user_id), str(users["admin"].user_id)
        many = str(users["many rights"].user_id)
        (seen,) = spark.sql(f"{tests} {typical}").first()
        (of_admin,) = spark.sql(f"{tests} {admin}").first()
        seen_by_typical = tests.replace("min(test_id)", "test_id") + f" {typical}"
        (unseen,) = spark.sql(
            f"select min(test_id) from {SCHEMA}.vw_dataset_tests"
            f" where test_id not in ({seen_by_typical})"
        ).first()
        (grant,) = spark.sql(
            f"select min(grant_id) from {SCHEMA}.int_access_paths"
            " where grant_table = 'data_source_permissions'"
        ).first()

        # Of whoever owns the data source to which most have access.
        (owner,) = spark.sql(
            "select cast(first(owner_user_id) as string)"
            f" from {SCHEMA}.vw_secure_user_data_source_access"
            f" inner join {SCHEMA}.int_securable_objects on object_type = 'Data Source'"
            " and object_id = meta_data_source_id"
            f" inner join {SCHEMA}.stg_users on owner_user_id = stg_users.user_id"
            " and is_live group by object_id order by count(*) desc, object_id limit 1"
        ).first()

    def why(user: str, test: int | None) -> list[str]:
        # In a small world, an admin may be member of no project.
        row = ["--dataset", "tests", "--row", f"test_id={test}"]
        return [] if test is None else ["why", user, *row]

    asked = {
        "who, a typical user": ["who", typical],
        "who, an admin": ["who", admin],
        "who has a data source": ["who", "--object", "Data Source 7"],
        "why, a typical user": why(typical, seen),
        "why, an admin": why(admin, of_admin),
        "why not, with the nearest grants": why(typical, unseen),
        "compare, two users": ["compare", typical, many],
        "who, a typical user, on a past day": ["who", typical, "--as-of", AS_OF],
        "since, a typical user": ["since", AS_OF, "--user", typical],
        "what-if, one grant less": [
            *("what-if", "--remove", f"row {grant} of data_source_permissions")
        ],
        "timeline, a typical user": ["timeline", typical],
        "timeline, an admin": ["timeline", admin],
        "timeline, a project": ["timeline", "--object", "Project 7"],
        "review, of one owner": ["review", "--owner", owner],
        "review, of one person": ["review", "--user", typical],
    }
    return {what: arguments for what, arguments in asked.items() if arguments}


def read_both(schemas: tuple[str, str]) -> float:
    """Return the seconds of reading every access view of two states."""
    views = [f"{schema}.{view}" for schema in schemas for view in ACCESS_VIEWS]
    return read([f"select * from {view}" for view in views])


def find_changes() -> float:
    """Return the seconds of the query of `changed_access`, as it was compiled last."""
    (path,) = (TARGET / "compiled").rglob("models/changes/changed_access.sql")
    return read([path.read_text(encoding="utf-8")])


def read(queries: list[str]) -> float:
    """Return the seconds in which Spark works out some queries."""
    with session() as spark:
        # Once unmeasured: who reads first also pays for warming up.
        for _ in range(2):
            started = time.monotonic()
            for query in queries:
                rows = spark.sql(query)
                rows.write.format("noop").mode("overwrite").save()
        return time.monotonic() - started


# ---------------------------------------------------------------------------
# Commands, each in a process of its own
# ---------------------------------------------------------------------------


def command(*arguments: str, **variables: Any) -> list[str]:
    """Return a dbt command on the workspace."""
    return [
        str(Path(sys.executable).with_name("dbt")),
        "--quiet",
        *arguments,
        *("--project-dir", str(PROJECT), "--profiles-dir", str(FOLDER)),
        *("--log-path", str(FOLDER / "logs")),
        *("--vars", json.dumps(variables)),
    ]


def question(arguments: list[str], *engine: str) -> list[str]:
    """Return a command of `secure-datasets` on the workspace."""
    return [
        str(Path(sys.executable).with_name("secure-datasets")),
        *arguments,
        *("--project-dir", str(PROJECT), "--profiles-dir", str(FOLDER)),
        *engine,
    ]


def look_at_newest_rows() -> None:
    """Let dbt note when the newest row of each raw table was loaded."""
    (TARGET / "sources.json").unlink(missing_ok=True)
    # It looks at no sample. That the rows are old is an error to it, and is meant.
    measured("", command("source", "freshness", sample_schema="no_sample"))


def measured(what: str, asked: list[str], *answers: int) -> Measured:
    """Run a command; return its seconds and the most that it and its JVM resided in.

    answers   the exit codes beside 0 that are no failure
    """
    started, peaks = time.monotonic(), {}
    with open(FOLDER / "said.txt", "w+", encoding="utf-8") as said:
        process = subprocess.Popen(
            asked,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=os.environ | {"DBT_TARGET_PATH": str(TARGET)},
        )
        ended = threading.Event()
        watching = threading.Thread(target=watch, args=(process.pid, peaks, ended))
        watching.start()
        try:
            code = process.wait(LONGEST)
        except subprocess.TimeoutExpired:
            # The JVM is of the same group.
            os.killpg(process.pid, 9)
            code = f"ended after {LONGEST} s"
        ended.set()
        watching.join()
        taken = time.monotonic() - started
        said.seek(0)
        lines = said.read().strip().splitlines()
    is_failed = code and code not in answers
    problem = f"{code}: {' '.join(lines[-4:])[-300:]}" if is_failed else None
    return Measured(what, taken, sum(peaks.values()), problem)


def watch(root: int, peaks: dict[int, int], ended: threading.Event) -> None:
    """Note the peak of a process and of all below it, where Linux tells it."""
    while not ended.wait(0.2):
        parents = {}
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                # A name may hold brackets and spaces.
                parents[int(path.parent.name)] = int(
                    path.read_text().rsplit(")", 1)[1].split()[1]
                )
            except (OSError, IndexError):
                continue
        family = {root}
        while further := {c for c, p in parents.items() if p in family} - family:
            family |= further
        for each in family:
            try:
                program = os.readlink(f"/proc/{each}/exe")
                above = os.readlink(f"/proc/{parents[each]}/exe")
                status = Path(f"/proc/{each}/status").read_text()
            except OSError:
                continue
            # What the JVM has just forked has all of its memory until it is a program.
            if program == above and program.endswith("/java"):
                continue
            if peak := re.search(r"VmHWM:\s+(\d+) kB", status):
                peaks[each] = int(peak[1]) * 1024


# ---------------------------------------------------------------------------
# What is told
# ---------------------------------------------------------------------------


def line(one: Measured, found: dict[str, Measured]) -> str:
    """Return a line of the table."""
    ratios = [
        f"{one.seconds / found[of].seconds:.2f}x" if of in found else ""
        for of in (RUN, START)
    ]
    peak = f"{one.peak / MIB:,.0f} MiB" if one.peak else ""
    problem = " failed" if one.problem else ""
    return (
        f"| {one.what}{problem} | {one.seconds:.1f} s | {ratios[0]} | {ratios[1]}"
        f" | {peak} |"
    )


def answered(what: str, asked: Asked, start: Measured | None) -> str:
    """Return a line of the table of questions."""
    spark = asked.spark
    of_start = f"{asked.first.seconds / start.seconds:.2f}x" if start else ""
    ran = [asked.first, asked.again, *([spark] if spark else [])]
    problem = " failed" if any(one.problem for one in ran) else ""
    in_spark = f"{spark.seconds:.1f} s | {spark.peak / MIB:,.0f} MiB" if spark else " |"
    return (
        f"| {what}{problem} | {asked.first.seconds:.1f} s | {asked.again.seconds:.1f} s"
        f" | {of_start} | {asked.first.peak / MIB:,.0f} MiB | {in_spark} |"
    )


def ratios(found: dict[str, Measured]) -> list[str]:
    """Return what the laws of comparisons ask for, in sentences."""
    told = []
    if {START, "diff", BOTH} <= found.keys():
        own = found["diff"].seconds - found[START].seconds
        told.append(
            "A comparison takes, beyond starting dbt and Spark,"
            f" {own / found[BOTH].seconds:.2f} times reading both states' access views."
        )
    if {CHANGED, BOTH} <= found.keys():
        times = found[CHANGED].seconds / found[BOTH].seconds
        told.append(f"Finding whose access has changed takes {times:.2f} times that.")
    return told


def tell(
    found: dict[str, Measured], asked: dict[str, Asked], sizes: Sizes, nights: int
) -> None:
    """Print the tables, and write them down with JSON."""
    start = found.get(START)
    text = "\n".join(
        [
            "| what | time | of a run | of starting | peak memory |",
            "|---|--:|--:|--:|--:|",
            *(line(one, found) for one in found.values()),
            "",
            *ratios(found),
            "",
            "| question | first | again | of starting | memory | Spark | its memory |",
            "|---|--:|--:|--:|--:|--:|--:|",
            *(answered(what, one, start) for what, one in asked.items()),
        ]
    )
    results = FOLDER / "results"
    results.mkdir(exist_ok=True)
    (results / "questions.md").write_text(f"{text}\n")
    document = {"sizes": asdict(sizes), "nights": nights}
    document["measured"] = [asdict(one) for one in found.values()]
    document["asked"] = {what: asdict(one) for what, one in asked.items()}
    (results / "questions.json").write_text(json.dumps(document, indent=2))
    print(f"\n{text}", flush=True)


def asked_for(arguments: list[str]) -> tuple[Sizes, int]:
    """Read NAME=NUMBER arguments; stop at what is none."""
    known, given = [field.name for field in fields(Sizes)], {}
    for argument in arguments:
        name, _, number = argument.partition("=")
        if name not in (*known, "nights") or not number.isdigit():
            names = ", ".join(["nights", *known])
            sys.exit(f"{argument}: give NAME=NUMBER; the names are {names}")
        given[name] = int(number)
    nights = given.pop("nights", 1)
    if not 1 <= nights <= MOST_NIGHTS:
        sys.exit(f"nights={nights}: from 1 to {MOST_NIGHTS}")
    sizes = replace(Sizes(), **given)
    if sizes.grantees > sizes.users:
        sys.exit(f"grantees={sizes.grantees}: they are users, of whom there are fewer")
    return sizes, nights


def main() -> None:
    """Measure, and tell."""
    sizes, nights = asked_for(sys.argv[1:])
    started = time.monotonic()
    apart(prepare, sizes, nights)
    time.sleep(SETTLED)
    print(f"generated in {time.monotonic() - started:.0f} s", flush=True)
    found: dict[str, Measured] = {}

    def ask(what: str, *arguments: str, **variables: Any) -> bool:
        one = found[what] = measured(what, command(*arguments, **variables))
        print(line(one, found), flush=True)
        if one.problem:
            print(one.problem, flush=True)
        return not one.problem

    asked: dict[str, Asked] = {}
    if ask(RUN, "run"):
        start = ("show", "--inline", "select 1 as one")
        # The first one finds nothing in the caches of the disk.
        ask(START, *start)
        ask(START, *start)
        if RUNS:
            ask(SECOND, "run")
            ask(UNCHANGED, "run")
            look_at_newest_rows()
            for name in FRESH:
                KNOWN.mkdir(exist_ok=True)
                shutil.copy(TARGET / "sources.json", KNOWN)
                apart(bring_row, name)
                look_at_newest_rows()
                fresher = ("--select", "source_status:fresher+", "--state", str(KNOWN))
                ask(HANGS_ON.format(name), "build", *fresher, *WITHOUT_TESTS)
            apart(revoke)
            if ask(REVOKED, "run", "--selector", "rights"):
                apart(check_switched)
        ask(REVIEWED, "run", "--select", "tag:review")
        for what, arguments in apart(questions).items() if QUESTIONS else ():
            asked[what] = ask_twice(what, arguments)
            print(answered(what, asked[what], found.get(START)), flush=True)
        past = ("build", "--selector", "access", *WITHOUT_TESTS)
        is_asked = RUNS and QUESTIONS
        if is_asked and ask("as-of", *past, as_of=AS_OF):
            states = (AS_OF_SCHEMA, SCHEMA)
            found[BOTH] = Measured(BOTH, apart(read_both, states), 0)
            print(line(found[BOTH], found), flush=True)
            before, after = states
            compare = ("build", "--select", "tag:access_changes", *WITHOUT_TESTS)
            if ask("diff", *compare, before=before, after=after):
                found[CHANGED] = Measured(CHANGED, apart(find_changes), 0)
                print(line(found[CHANGED], found), flush=True)
    tell(found, asked, sizes, nights)
    every = [*found.values(), *(one.first for one in asked.values())]
    sys.exit(any(one.problem for one in every))


def ask_twice(what: str, arguments: list[str]) -> Asked:
    """Ask a question twice over the files, and once in Spark where Spark answers it."""
    first, again = (measured(what, question(arguments), NO) for _ in range(2))
    spark = None
    if arguments[0] in ASKED_OF_SPARK and not {"--object", "--as-of"} & {*arguments}:
        in_spark = question(arguments, "--engine", "spark")
        spark = measured(what, in_spark, NO)
    for one in filter(None, (first, again, spark)):
        if one.problem:
            print(one.problem, flush=True)
    return Asked(first, again, spark)


if __name__ == "__main__":
    main()
