"""Where the seconds of a run of the sample go.

    python benchmarks/inner_loop.py         # all of it
    python benchmarks/inner_loop.py runs    # what runs cost alone

Records what a run of the sample has Spark do, then times in turns, each in a process of
its own: a command that only starts dbt and Spark; `dbt run --full-refresh`; `dbt run`
with nothing new, after a new row of tests, and after one of users; the selector
`rights`, after a membership has ended. A full run with one thread; with what Spark and
dbt do unless they are told otherwise; with four threads; with the cores shared between
threads; a session that only starts and does the recorded statements again, one after
the other, under other names of versions; `who` and `why`. Each way to run has a
warehouse of its own, so that none tidies up after another; what the recorded run
dropped is not there to be dropped again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import yaml
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from dbt_secure_spark.session import start_session
from dbt_secure_spark.versions import NAMED_VERSION

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "target" / "inner_loop"
# Fewer, by the environment, are for a first look.
ROUNDS = int(os.environ.get("ROUNDS", "3"))
ONE_THREAD = ("--threads", "1")
# All jobs are in the pool `default`, where Spark does one after the other unless told.
FAIR_POOL = """\
<allocations>
  <pool name="default">
    <schedulingMode>FAIR</schedulingMode>
  </pool>
</allocations>
"""
RAW = "repository_sample"
STARTING, FULL = "starting dbt and Spark", "dbt run --full-refresh"
RIGHTS = "a revocation, by rights"
ANEW = ("--full-refresh",)
# What comes before a command, by the command's name: a part of this file, with a table.
BEFORE = {
    "a new row in tests": ("deliver", "tests"),
    "a new row in users": ("deliver", "users"),
    RIGHTS: ("revoke", "user_group_members"),
}
WHY = "{user: hpark, dataset: tests, row: test_id=12}"
# The name of a version ends with when its run began, and with which run that was.
VERSION = re.compile(r"(?<=__v)\d{14}_[0-9a-f]{8}")


def untuned(output: dict) -> None:
    """Leave to dbt and Spark what the profile says of small runs."""
    settings = output["server_side_parameters"]
    output["threads"] = 1
    del settings["spark.sql.shuffle.partitions"]
    options = settings["spark.driver.extraJavaOptions"]
    settings["spark.driver.extraJavaOptions"] = options.split(" -XX:Tiered")[0]


def fair(output: dict) -> None:
    """Let jobs of different threads share the cores, and not wait for each other."""
    pools = FOLDER / "pools.xml"
    pools.write_text(FAIR_POOL)
    output["server_side_parameters"] |= {
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": pools.as_uri(),
    }


def make_place(name: str, change: Callable[[dict], None] | None = None) -> Path:
    """Make a folder with the profile of the sample, where the sample is built once."""
    folder = FOLDER / name
    (folder / "spark").mkdir(parents=True)
    text = (ROOT / "profiles.yml.example").read_text()
    text = text.replace("PROJECT_FOLDER/.spark", f"{folder}/spark")
    profile = yaml.safe_load(text.replace("PROJECT_FOLDER", str(ROOT)))
    if change:
        change(profile["secure_datasets"]["outputs"]["local"])
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile))
    for command in ("seed", "run"):
        subprocess.run(dbt(command, folder), check=True)
    return folder


def arguments(command: str, folder: Path) -> list[str]:
    """What dbt is told."""
    return [
        *("--quiet", command),
        *("--project-dir", str(ROOT), "--profiles-dir", str(folder)),
        *("--target-path", str(folder / "target")),
        *("--log-path", str(folder / "logs")),
        *("--vars", "{summary: false}"),
    ]


def dbt(command: str, folder: Path, *more: str) -> list[str]:
    """The command line of dbt."""
    program = str(Path(sys.executable).with_name("dbt"))
    return [program, *arguments(command, folder), *more]


def settings_of(folder: Path) -> dict:
    """Return what the profile of a folder sets of Spark."""
    profile = yaml.safe_load((folder / "profiles.yml").read_text())
    return profile["secure_datasets"]["outputs"]["local"]["server_side_parameters"]


def record(folder: Path) -> None:
    """Run dbt, and write down each statement and each Python model."""
    # Here, so that the process that does them again does without dbt.
    from dbt.cli.main import dbtRunner

    from dbt_secure_spark.submission import SessionPythonJobHelper

    done: list[tuple[str, str]] = []
    sql, submit = SparkSession.sql, SessionPythonJobHelper.submit
    in_model = threading.local()

    def recording_sql(self, query, *more, **named):
        # What fails is an answer to whoever asks so, and can't be done again.
        found = sql(self, query, *more, **named)
        # The signs of life come by the clock, and are not of the work.
        if not getattr(in_model, "runs", False) and "live_run_" not in query:
            done.append(("sql", query))
        return found

    def recording_submit(self, compiled_code):
        done.append(("python", compiled_code))
        in_model.runs = True
        try:
            return submit(self, compiled_code)
        finally:
            in_model.runs = False

    SparkSession.sql, SessionPythonJobHelper.submit = recording_sql, recording_submit
    result = dbtRunner().invoke([*arguments("run", folder), *ANEW, *ONE_THREAD])
    if not result.success:
        sys.exit(f"dbt run: {result.exception or 'a model failed'}")
    (folder / "done.json").write_text(json.dumps(done))


def replay(folder: Path) -> None:
    """Start a session and do what was recorded, under other version names."""
    done = json.loads((folder / "done.json").read_text())
    recorded = max(VERSION.findall(json.dumps(done)))
    own = f"{time.strftime('%Y%m%d%H%M%S', time.gmtime())}_{uuid.uuid4().hex[:8]}"
    spark = start_session(settings_of(folder))
    for language, text in done:
        text = text.replace(recorded, own)
        if language == "sql":
            spark.sql(text).collect()
        else:
            exec(compile(text, "model", "exec"), {"__name__": "model", "spark": spark})


def deliver(folder: Path, table: str, **values: str) -> None:
    """Let the first row that goes on come again, after all others."""
    spark = start_session(settings_of(folder))
    rows = spark.table(f"{RAW}.{table}").localCheckpoint()
    ended = rows.where("is_active = 'false'").select("id").distinct()
    going = rows.where("is_active = 'true'").join(ended, "id", "left_anti")
    (newest,) = rows.agg(F.max("sf_date_created")).first()
    values |= {"date_modified": newest, "sf_date_created": newest}
    row = going.orderBy("id").limit(1)
    row = row.withColumns({name: F.lit(value) for name, value in values.items()})
    # dbt has loaded them as a view over a table.
    told = spark.sql(f"show create table {RAW}.{table}").first()[0].replace("`", "")
    row.select(rows.columns).write.insertInto(NAMED_VERSION.search(told)[0])


def revoke(folder: Path, table: str) -> None:
    """Let one membership end."""
    deliver(folder, table, is_active="false")


def seconds(command: list[str]) -> float:
    """Run a command in a process of its own."""
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    """Record in a process of its own, then compare."""
    parts = {"record": record, "replay": replay, "deliver": deliver, "revoke": revoke}
    if sys.argv[1:] and sys.argv[1] in parts:
        parts[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    by_dbt, here = make_place("dbt"), [sys.executable, str(Path(__file__))]
    commands = {
        STARTING: dbt("show", by_dbt, "--inline", "select 1 as one"),
        FULL: dbt("run", by_dbt, *ANEW),
        "nothing new": dbt("run", by_dbt),
        "a new row in tests": dbt("run", by_dbt),
        "a new row in users": dbt("run", by_dbt),
        RIGHTS: dbt("run", by_dbt, "--selector", "rights"),
    }
    if sys.argv[1:] != ["runs"]:
        alone = make_place("statements")
        by_spark, shared = make_place("untuned", untuned), make_place("shared", fair)
        subprocess.run([*here, "record", str(alone)], check=True)
        commands |= {
            "one thread": dbt("run", by_dbt, *ANEW, *ONE_THREAD),
            "its statements alone": [*here, "replay", str(alone)],
            "untuned": dbt("run", by_spark, *ANEW),
            "four threads": dbt("run", by_dbt, *ANEW, "--threads", "4"),
            "in a fair pool": dbt("run", shared, *ANEW),
            "who": dbt("run-operation", by_dbt, "who", "--args", "{user: hpark}"),
            "why": dbt("run-operation", by_dbt, "why", "--args", WHY),
        }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            if before := BEFORE.get(name):
                part, table = before
                subprocess.run([*here, part, str(by_dbt), table], check=True)
            taken[name].append(seconds(command))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, median in medians.items():
        times = [median / medians[of] for of in (FULL, STARTING)]
        print(f"{name:24} {median:6.1f} s {times[0]:5.2f}x {times[1]:5.2f}x")


if __name__ == "__main__":
    main()
