"""The same question answered as other tools answer it, over the same rows.

- A filter in the query, as Kyuubi's plan has it: the keys are looked up in the access
  views by subqueries with the user's id.
- A view by hand: the base joined to the access of all users, filtered by `user_id`.
- DuckDB: the secure dataset's own query over the same files.
- Row security of PostgreSQL (postgres.py).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from measure import ROUNDS
from postgres import LOOKUPS, POLICIES
from queries import secure
from workspace import SCHEMA

from secure_datasets.engines.duckdb import DuckDB
from secure_datasets.engines.published import (
    STATE,
    State,
    local_path,
    read_state,
    relations_of,
)
from secure_datasets.engines.translation import translated

# The Python of an environment with Sail, if it is to be asked too (sail.py).
SAIL = os.environ.get("SAIL")
THREADS = 2
BASE = SCHEMA + ".vw_dataset_{}"
ACCESS = SCHEMA + ".vw_secure_user_{}_access"
ONE_KEY = (
    "select base.*, access.user_id from {base} as base inner join {access} as access"
    " on base.{key} = access.{access_key}"
)


def filtered(dataset: str, user: int) -> str:
    """Return the filter in the query, by subqueries over the access views."""
    lookups = {
        name: f"{query} where user_id = {user}".replace(
            " from ", f" from {SCHEMA}.vw_secure_user_"
        )
        for name, query in LOOKUPS.items()
    }
    policy = re.sub(r"= any \(array\((.*?)\)\)", r"in (\1)", POLICIES[dataset])
    condition = policy.format(**lookups)
    return f"select * from {BASE.format(dataset)} where {condition}"


def view_by_hand(dataset: str, user: int) -> str:
    """Return one user's query of a view that joins the base to everybody's access."""
    base = BASE.format(dataset)

    def by_key(tier: str, key: str, access_key: str) -> str:
        access = ACCESS.format(tier)
        return ONE_KEY.format(base=base, access=access, key=key, access_key=access_key)

    by_source = by_key("data_source", "data_source_id", "meta_data_source_id")
    by_project = by_key("project", "project_id", "project_id")
    queries = {
        "tables": by_source,
        "columns": by_source,
        "tests": by_project,
        "event_history": (
            f"{by_project} where context = 'Project'"
            f" union all {by_source} where context = 'Data Source'"
            " union all select *, cast(null as bigint) as user_id"
            f" from {base} where context = 'Global'"
        ),
        "test_executions": (
            f"select base.*, tested.user_id from {base} as base"
            f" inner join {ACCESS.format('results')} as tested"
            " on base.project_id = tested.project_id"
            " and base.test_data_source_id = tested.meta_data_source_id"
            f" left join {ACCESS.format('results')} as control"
            " on base.project_id = control.project_id"
            " and base.control_data_source_id = control.meta_data_source_id"
            " and tested.user_id = control.user_id"
            " where base.control_data_source_id is null or control.user_id is not null"
        ),
    }
    for_all = " or user_id is null" if dataset == "event_history" else ""
    return f"select * from ({queries[dataset]}) where user_id = {user}{for_all}"


def in_spark(dataset: str, user: int) -> dict[str, str]:
    """Return the queries for Spark, by the way of answering."""
    return {
        "secure": secure(dataset, user),
        "filtered": filtered(dataset, user),
        "view_by_hand": view_by_hand(dataset, user),
    }


def state_in(folder: Path) -> State:
    """Return the state that the benchmark's run has published."""
    (path,) = folder.glob(f"**/{SCHEMA}_versions.db/{STATE}")
    return read_state(path, version("secure-datasets"))


def in_sail(folder: Path, datasets: Iterable[str], user: int) -> dict[str, Any]:
    """Return each dataset's rows and median seconds in Sail; nothing without SAIL."""
    if SAIL is None:
        return {}
    published = state_in(folder).values
    versions, relations = published["versions"], published["relations"]
    told = {
        "folders": {n: str(local_path(v["location"])) for n, v in versions.items()},
        "views": {n: r["query"] for n, r in relations.items() if r["query"]},
        "queries": {dataset: secure(dataset, user) for dataset in datasets},
        "rounds": ROUNDS,
    }
    asked = subprocess.run(
        [SAIL, str(Path(__file__).with_name("sail.py"))],
        input=json.dumps(told),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(asked.stdout)


def in_duckdb(folder: Path) -> Callable[[str, int], tuple[int, Callable[[], float]]]:
    """Return what counts a user's rows in DuckDB, and makes what reads them."""
    engine = DuckDB(relations_of(state_in(folder)), threads=THREADS)

    def asking(dataset: str, user: int) -> tuple[int, Callable[[], float]]:
        query = secure(dataset, user)
        found = len(engine.ask(query))
        # Carries the query out, and drops its rows.
        analyzed = f"explain analyze {translated(query).sql}"

        def work() -> float:
            started = time.monotonic()
            engine.connection.execute(analyzed).fetchall()
            return time.monotonic() - started

        return found, work

    return asking
