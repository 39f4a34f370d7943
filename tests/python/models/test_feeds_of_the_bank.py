"""Tarn Valley Bank's raw tables of each kind give the sample's rows, without Spark."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import yaml
from feed_sandbox import FeedSandbox
from oracle.contract import read_world
from own_config import PRODUCTS, document_of
from projects import ROOT, SAMPLE
from rendering import Macros

from secure_datasets.config.feeds import KINDS, read_feeds

BANK = ROOT / SAMPLE
DECLARED = yaml.safe_load((BANK / "dbt_project.yml").read_text())["vars"]["feeds"]
# When the replica got a row is told by each kind in its own way.
NOT_COMPARED = {"sf_date_created"}


def live(sandbox: FeedSandbox, table: str) -> dict[int, dict[str, Any]]:
    """Return what the live rows of a table say, by id."""
    return {
        key: {c: v for c, v in row.items() if c not in NOT_COMPARED}
        for key, row in sandbox.live(table).items()
    }


def read_seed(path: Path) -> list[dict[str, str | None]]:
    """Return the rows of a seed: an empty cell is null."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            {column: value or None for column, value in row.items()}
            for row in csv.DictReader(file)
        ]


def test_the_bank_has_a_raw_table_of_each_kind():
    feeds = read_feeds(DECLARED, Macros(document_of(PRODUCTS)).repository_tables())
    kinds = [feed["kind"] for feed in feeds.values()]
    # Rows that are no feed's are appended.
    assert sorted(kinds) == sorted({*KINDS} - {"appended"})
    seeds = {path.stem for path in (BANK / "seeds/repository").glob("*.csv")}
    assert seeds == {*feeds}


@pytest.mark.parametrize("table", DECLARED)
def test_a_raw_table_of_another_kind_gives_the_sample_s_rows(table):
    appended = FeedSandbox()
    rows = read_world(ROOT / "seeds/repository")[table]
    appended.deliver(table, dict.fromkeys(rows[0], "varchar"), rows)
    bank = FeedSandbox(DECLARED)
    rows = read_seed(BANK / f"seeds/repository/{table}.csv")
    bank.deliver(table, dict.fromkeys(rows[0], "varchar"), rows)
    assert live(bank, table) == live(appended, table)
    deleted = [row for row in bank.staged(table) if row["is_deleted"]]
    assert bool(deleted) is (bank.macros.feed_of(table)["kind"] != "snapshots")
