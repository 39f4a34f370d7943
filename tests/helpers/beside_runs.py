"""Runs that are killed, and readers beside them that a process of their own has.

How often is set by ROUNDS, and which moments by SEED.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from harness import KEEP_READING, READ, RUN_SQL, Deployment, stop
from states import RAW_SCHEMA, STATES, deliver, raw_table_statements, state

from dbt_secure_spark.published_state import STATE
from dbt_secure_spark.versions import versions_kept, versions_read
from dbt_secure_spark.warehouse import CLAIM, CLAIM_TABLE

ROUNDS = int(os.environ.get("ROUNDS", "12"))
SEED = int(os.environ.get("SEED", "1"))
SCHEMA = "secure_datasets"
CATALOG = "versions_catalog"
# What lies beside the versions.
OF_THE_SCHEMA = {CLAIM, CLAIM_TABLE, STATE}
# More of them would take the run what it runs on.
READERS = 2
LOCK_SECONDS = 5
VARS = {
    "raw_schema": RAW_SCHEMA,
    "summary": False,
    "run_lock_seconds": LOCK_SECONDS,
}
# What the readers do not read is left out, for time.
OTHERS = (
    "changes",
    "governance",
    "leaks",
    "privileges",
    "review",
    "view_authorization",
)
RUN = (
    *("run", "--vars", json.dumps(VARS)),
    *("--exclude", *(f"path:models/{folder}" for folder in OTHERS)),
)
# What dbt prints when it comes to the moments that chance would seldom meet.
MOMENTS = ("on-run-start.0 ", "vw_secure_user_", "vw_secure_dataset_", "on-run-end.0 ")


class Running:
    """A project whose raw tables change from run to run."""

    def __init__(self, deployment: Deployment) -> None:
        self.deployment = deployment
        self.folder = deployment.folder
        self.number = 0
        self.seconds_per_run = 0.0

    def build(self) -> None:
        """Build the project from the first state."""
        self.say_valid(0)
        deliver(state(0), self.folder / "raw")
        self.sql(*raw_table_statements(self.folder / "raw"))
        code, printed = self.deployment.dbt("seed")
        assert code == 0, printed
        self.run()

    def sql(self, *statements: str) -> list[list[list]]:
        """Run statements beside dbt; return the rows that each gives."""
        (self.folder / "statements.json").write_text(json.dumps(statements))
        printed = self.deployment.python(RUN_SQL, self.folder / "statements.json")
        return json.loads(printed)

    def deliver_next(self) -> None:
        """Deliver the next state; from now on it may be seen, and the one before."""
        before, self.number = self.number, (self.number + 1) % STATES
        self.say_valid(before, self.number)
        deliver(state(self.number), self.folder / "raw")

    def say_valid(self, *numbers: int) -> None:
        """Tell the readers which states may be seen."""
        written = self.folder / "valid.tmp"
        written.write_text(" ".join(map(str, numbers)))
        written.replace(self.folder / "valid")

    def run(self, *arguments: str) -> str:
        """Run dbt to its end, which must be a good one; return what it printed."""
        started = time.monotonic()
        code, printed = self.deployment.dbt(*RUN, *arguments)
        self.seconds_per_run = time.monotonic() - started
        assert code == 0, printed[-4000:]
        return printed

    def met(self) -> dict:
        """Return what the readers met so far."""
        return json.loads((self.folder / "met").read_text())

    def rows(self, queries: dict[str, str]) -> dict[str, Counter]:
        """Return the rows that queries give."""
        (self.folder / "queries.json").write_text(json.dumps(queries))
        printed = self.deployment.python(READ, self.folder / "queries.json")
        return {name: Counter(dict(rows)) for name, rows in json.loads(printed).items()}

    def seconds_between_switches(self, names: str) -> float:
        """Return how long some views of the last run were switched and others not."""
        results = json.loads((self.folder / "target/run_results.json").read_text())
        switched = [
            datetime.fromisoformat(result["timing"][-1]["completed_at"].rstrip("Z"))
            for result in results["results"]
            if names in result["unique_id"]
        ]
        return (max(switched) - min(switched)).total_seconds()

    def left_over(self) -> dict[str, set[str]]:
        """Return what a finished run must not leave: tables and folders unnamed."""
        schema, catalog = f"{SCHEMA}_versions", self.deployment.output.get(CATALOG)
        listed, definitions = self.sql(
            f"show tables in {f'{catalog}.' if catalog else ''}{schema}",
            f"show table extended in {SCHEMA} like '*'",
        )
        tables = {row[1] for row in listed} - OF_THE_SCHEMA
        named = {
            version.partition(".")[2]
            for *_, told in definitions
            for version in versions_read(told) + versions_kept(told)
        }
        place = f"{catalog}/{schema}" if catalog else f"shared_warehouse/{schema}.db"
        folder = self.folder / ".spark" / place
        folders = {path.name for path in folder.iterdir()} - OF_THE_SCHEMA
        return {"tables": tables - named, "folders": folders - tables}


@contextmanager
def reading(running: Running) -> Iterator[None]:
    """Read beside what is done meanwhile."""
    for name in ("stop", "reading", "met"):
        (running.folder / name).unlink(missing_ok=True)
    process = subprocess.Popen(
        [running.deployment.bin / "python", KEEP_READING, running.folder, str(READERS)],
        env=running.deployment.environment,
        start_new_session=True,
    )
    try:
        while not (running.folder / "reading").exists():
            assert process.poll() is None
            time.sleep(0.2)
        yield
        (running.folder / "stop").touch()
        assert process.wait(300) == 0
    finally:
        stop(process)


def killed_run(
    running: Running, choice: random.Random, number: int, rounds: int
) -> int:
    """Start a run, kill it at some moment, and say when; return its group of processes.

    The moments are spread over the run, and every other one is what dbt comes to. Half
    of them kill dbt alone, which leaves its JVM to find out, half also the JVM.
    """
    started = time.monotonic()
    process = running.deployment.start_dbt(*RUN)
    last = ""
    try:
        if number % 2:
            moment = MOMENTS[number // 2 % len(MOMENTS)]
            for line in process.stdout:
                last = re.sub(r"\x1b\[\d+m", "", line).strip()
                if moment in line:
                    break
            time.sleep(choice.uniform(0, 2))
        else:
            # Runs differ in length, and this one must still be there to be killed.
            part = 0.9 * (number + choice.random()) / rounds
            time.sleep(part * running.seconds_per_run)
    finally:
        is_running = process.poll() is None
        kill = choice.choice((os.kill, os.killpg))
        if is_running:
            kill(process.pid, signal.SIGKILL)
        process.wait()
    told = last if is_running else "it had ended"
    seconds = time.monotonic() - started
    print(f"{kill.__name__} after {seconds:.1f} s {told}", flush=True)
    return process.pid


def is_there(group: int) -> bool:
    """Say whether a group has a process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def meet_no_error_and_no_mixture(
    running: Running, numbers: Sequence[int], rounds: int
) -> None:
    """Read beside runs that are killed, and the next ones, which repair.

    Takes the rounds with these numbers, of so many.
    """
    choice = random.Random(SEED)
    with reading(running):
        for number in numbers:
            running.deliver_next()
            killed = killed_run(running, choice, number, rounds)
            running.run()
            running.say_valid(running.number)
            met = running.met()
            print(f"round {number}: {running.seconds_per_run:.1f} s, {met}", flush=True)
            for names in ("vw_secure_user_", "vw_secure_dataset_"):
                seconds = running.seconds_between_switches(names)
                print(f"first to last {names}*: {seconds:.1f} s", flush=True)
            assert (met["errors"], met["mixed"]) == (0, 0)
            assert not is_there(killed)
            assert running.left_over() == {"tables": set(), "folders": set()}
    met = running.met()
    print(met, flush=True)
    assert (met["errors"], met["mixed"]) == (0, 0)
    assert met["queries"] > 20 * len(numbers)
