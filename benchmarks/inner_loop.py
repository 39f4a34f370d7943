"""What dbt adds to a run of the sample: `dbt run` against its own statements alone.

    python benchmarks/inner_loop.py

Records what a run of the sample has Spark do, then times in turns, each in a process of
its own: `dbt run`, and a session that only starts and does the same again.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
import uuid
from pathlib import Path

from dbt_spark_session.session import start_session
from dbt_spark_session.submission import SessionPythonJobHelper

ROUNDS = 3
RAW_SCHEMA = "repository_sample"
# The name of a version ends with when it was made, and by which run.
VERSION = re.compile(r"(?<=__v)\d{14}_[0-9a-f]{8}")


def record(file: Path) -> None:
    """Load the sample, run dbt, and write down each statement and Python model."""
    from place import Place

    place = Place()
    place.dbt("seed", raw_schema=RAW_SCHEMA)
    done: list[tuple[str, str]] = []
    session, helper = type(place.spark), SessionPythonJobHelper
    sql, submit = session.sql, helper.submit

    def recording_sql(self, query, *arguments, **named):
        done.append(("sql", query))
        return sql(self, query, *arguments, **named)

    def recording_submit(self, compiled_code):
        done.append(("python", compiled_code))
        return submit(self, compiled_code)

    session.sql, helper.submit = recording_sql, recording_submit
    place.dbt("run", raw_schema=RAW_SCHEMA)
    file.write_text(json.dumps([place.settings, done]))


def replay(file: Path) -> None:
    """Start a session and do what was recorded, under other version names."""
    settings, done = json.loads(file.read_text())
    spark = start_session(settings)
    own = f"{time.strftime('%Y%m%d%H%M%S')}_{uuid.uuid4().hex[:8]}"
    for language, text in done:
        text = VERSION.sub(own, text)
        if language == "sql":
            spark.sql(text).collect()
        else:
            exec(compile(text, "model", "exec"), {"spark": spark})


def seconds(*command: str) -> float:
    """Run a command in a process of its own."""
    started = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - started


def main() -> None:
    """Record in a process of its own, then compare."""
    from place import FOLDER, ROOT

    here, file = str(Path(__file__)), FOLDER / "statements.json"
    if len(sys.argv) > 1:
        {"record": record, "replay": replay}[sys.argv[1]](file)
        return
    seconds(sys.executable, here, "record")
    dbt = str(Path(sys.executable).with_name("dbt"))
    places = ("--project-dir", str(ROOT), "--profiles-dir", str(FOLDER))
    variables = ("--vars", "{summary: false}")
    commands = {
        "dbt run": (dbt, "--quiet", "run", *places, *variables),
        "statements": (sys.executable, here, "replay"),
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            taken[name].append(seconds(*command))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    for name, median in medians.items():
        print(f"{name:12} {median:6.1f} s")
    print(f"dbt run takes {medians['dbt run'] / medians['statements']:.2f}x")


if __name__ == "__main__":
    main()
