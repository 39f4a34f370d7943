"""Readers that never pause: python readers.py FOLDER THREADS

Each asks for what random users see of random relations, and compares the answer with
what a state that was valid while it asked gives. FOLDER/valid names those states. What
they met so far is in FOLDER/met, as JSON. They end when FOLDER/stop is there.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pyspark.sql import SparkSession
from read_relations import rows_of, session_of
from states import READ_BY_USER, Answers

SCHEMA = "secure_datasets"
# Beside what readers may read: the base datasets, whole, and staging.
BASES = [
    name.replace("vw_secure_", "vw_") for name in READ_BY_USER if "dataset" in name
]
STAGED = ("stg_users", "stg_tests", "stg_project_permissions", "int_access_paths")
SHOWN = 20


class Readers:
    """What all readers share, and what they met."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers = Answers()
        self.lock = threading.Lock()
        self.met = {"queries": 0, "errors": 0, "mixed": 0, "seconds_dark": 0.0}
        self.shown: list[str] = []

    def valid(self) -> set[int]:
        """Return the states that may be seen now."""
        return set(map(int, (self.folder / "valid").read_text().split()))

    def read(self, spark: SparkSession, choice: random.Random) -> None:
        """Ask once, and note what came."""
        relation = choice.choice([*READ_BY_USER, *READ_BY_USER, *BASES, *STAGED])
        user = choice.choice(self.answers.users) if relation in READ_BY_USER else None
        query = f"select * from {SCHEMA}.{relation}"
        if user is not None:
            query += f" where user_id = {user}"
            query += " or user_id is null" if "event" in relation else ""
        valid, asked = self.valid(), time.monotonic()
        try:
            found = rows_of(spark.sql(query))
        except Exception as failure:
            seconds = round(time.monotonic() - asked, 1)
            told = f"{query}: {str(failure)[:300]}"
            self.note(told, errors=1, seconds_dark=seconds)
            return
        valid |= self.valid()
        is_known = relation in STAGED or any(
            found == self.answers.of(number, relation, user) for number in valid
        )
        if is_known:
            self.note(None, queries=1)
        else:
            told = f"{query}: {len(found)} rows, of none of {valid}"
            self.note(told, queries=1, mixed=1)

    def note(self, wrong: str | None, **met: float) -> None:
        """Add to what was met, and write it down."""
        with self.lock:
            for name, number in met.items():
                self.met[name] += number
            if wrong:
                self.shown.append(wrong)
            written = self.folder / "met.tmp"
            written.write_text(json.dumps({**self.met, "shown": self.shown[:SHOWN]}))
            written.replace(self.folder / "met")

    def run(self, spark: SparkSession, seed: int) -> None:
        """Read until told to stop."""
        choice = random.Random(seed)
        while not (self.folder / "stop").exists():
            self.read(spark, choice)


def main() -> None:
    """Start the readers, and wait for their end."""
    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    # They share the machine with the runs, which must not wait for them.
    os.nice(10)
    spark = session_of(folder)
    readers = Readers(folder)
    (folder / "reading").touch()
    with ThreadPoolExecutor(threads) as pool:
        running = [
            pool.submit(readers.run, spark.newSession(), seed)
            for seed in range(threads)
        ]
    for reader in running:
        # A reader that broke down did not read to the end.
        reader.result()


if __name__ == "__main__":
    main()
