"""What is published in Iceberg, read while it is published: no error, no mixture."""

from __future__ import annotations

from beside_runs import Running, meet_no_error_and_no_mixture
from harness import postgresql_metastore
from lakehouse import Lakehouse

# One within a run, and one at each moment when views switch: rights, datasets, the end.
NUMBERS, ROUNDS = (2, 3, 5, 7), 8


def test_readers_beside_runs_and_kills_meet_no_error_and_no_mixture(tmp_path):
    lakehouse = Lakehouse(tmp_path / "product", "lake", "shared")
    with postgresql_metastore(lakehouse):
        running = Running(lakehouse)
        running.build()
        meet_no_error_and_no_mixture(running, NUMBERS, ROUNDS)
