"""Rows of new deliveries, with the others copied, are those of a whole staging.

Over random worlds and lives, in texts and in types, in DuckDB: what was delivered
before and what comes since are drawn at random, so that deliveries come late, again,
in conflict, and as deletions.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import compress
from operator import not_
from random import Random

import pytest
from feed_sandbox import RAW, FeedSandbox
from oracle.contract import TABLES
from random_lives import KINDS, TABLES_OF_LIVES, Tellers, random_life
from staging_sandbox import in_duckdb
from typed_worlds import AT_ONCE, comparable, typed, worlds

from dbt_secure_spark.appended import with_new_rows

WORLDS = int(os.environ.get("APPENDED_WORLDS", "40"))
ALONE = ("appended", "log", "log_with_positions")
LIVES = range(9_000, 9_060)


def copied(
    random: Random, feed: dict | None, table: str, types: dict, rows: list
) -> int:
    """Compare both ways, and return the number of rows that were copied."""
    is_new = [random.random() < 0.2 for _ in rows]
    new = [*compress(rows, is_new)]
    before = [*compress(rows, map(not_, is_new))]
    sandbox = FeedSandbox(feed and {table: feed})
    sandbox.deliver("new_rows", types, new)
    sandbox.deliver(table, types, before)
    code = sandbox.sql(table)
    (key,) = sandbox.macros.noted_keys
    assert key.query.strip() == code.strip()
    # A version's columns may stand in another order, and its names in quotes.
    staged = sandbox.connection.sql(in_duckdb(code))
    columns = random.sample(staged.columns, len(staged.columns))
    in_order = ", ".join(staged.columns)
    staged.project(", ".join(columns)).create(f"{RAW}.former")
    sandbox.deliver(table, types, [*before, *new])
    given = (f"select * from {RAW}.new_rows", f"{RAW}.former", columns)
    query = with_new_rows(table, key, f"`{RAW}`.`{table}`", *given)
    # Any delivery of a conflict stands for it.
    found = sandbox.query(f"select {in_order} from ({query}) as rows")
    wanted = sandbox.query(code)
    assert comparable(table, found) == comparable(table, wanted)
    return len(sandbox.query(query.rpartition("union all\n")[2]))


@pytest.mark.parametrize("first", range(9_000, 9_000 + WORLDS, AT_ONCE))
def test_rows_of_random_worlds_are_those_of_a_whole_staging(first):
    random, counts = Random(first), Counter()
    for table, rows in worlds(first).items():
        types, in_types, in_texts = typed(random, table, rows)
        as_text = dict.fromkeys(TABLES[table], "varchar")
        counts["types"] += copied(random, None, table, types, in_types)
        counts["texts"] += copied(random, None, table, as_text, in_texts)
    assert min(counts.values()) > 100, counts


def test_any_name_of_the_id_is_read():
    for called in ("delivered_key", "raw_rows", "former", "Key of it", "select"):
        feed = {"columns": {"id": called}}
        types = {called: "varchar"} | dict.fromkeys(TABLES["users"], "varchar")
        rows = [{called: str(n % 20), "login_name": str(n)} for n in range(40)]
        assert copied(Random(7), feed, "users", types, rows) > 0


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_random_lives_are_those_of_a_whole_staging(kind):
    told = getattr(Tellers([random_life(seed) for seed in LIVES], 7), kind)()
    for table in TABLES_OF_LIVES:
        types = dict.fromkeys(TABLES[table], "varchar") | told.columns
        given = (Random(7), told.feed, table, types, told.rows[table])
        if kind in ALONE:
            assert copied(*given) > 20
            continue
        # A load deletes what it lacks, an update pairs two rows, a period ends another.
        sandbox = FeedSandbox({table: told.feed})
        sandbox.deliver(table, types, told.rows[table])
        sandbox.sql(table)
        assert not sandbox.macros.noted_keys
