"""Readers that never pause: python readers.py FOLDER THREADS

Each asks for what random users see of random relations, and compares the answer with
what a state that was valid while it asked gives. FOLDER/valid names those states. Ends
when FOLDER/stop is there, and prints what it met as JSON.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "python"))

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
        self.queries = 0
        self.mixed: list[str] = []
        self.errors: list[str] = []
        self.seconds_dark = 0.0

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
            with self.lock:
                self.errors.append(f"{query}: {str(failure)[:300]}")
                self.seconds_dark += time.monotonic() - asked
            return
        valid |= self.valid()
        is_known = relation in STAGED or any(
            found == self.answers.of(number, relation, user) for number in valid
        )
        with self.lock:
            self.queries += 1
            if not is_known:
                self.mixed.append(f"{query}: {len(found)} rows, of none of {valid}")

    def run(self, spark: SparkSession, seed: int) -> None:
        """Read until told to stop."""
        choice = random.Random(seed)
        while not (self.folder / "stop").exists():
            self.read(spark, choice)


def main() -> None:
    """Start the readers; print what they met."""
    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    spark = session_of(folder)
    readers = Readers(folder)
    (folder / "reading").touch()
    running = [
        threading.Thread(target=readers.run, args=(spark.newSession(), seed))
        for seed in range(threads)
    ]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    print(
        json.dumps(
            {
                "queries": readers.queries,
                "errors": len(readers.errors),
                "mixed": len(readers.mixed),
                "seconds_dark": round(readers.seconds_dark, 1),
                "shown": (readers.errors + readers.mixed)[:SHOWN],
            }
        )
    )


if __name__ == "__main__":
    main()
