"""The unit tests of staging hold in the quick engine, whatever feeds a project has."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
import yaml
from feed_sandbox import FeedSandbox
from oracle.contract import TABLES
from projects import ROOT

PAGE = ROOT / "models/staging/_staging__unit_tests.yml"
UNIT_TESTS = yaml.safe_load(PAGE.read_text(encoding="utf-8"))["unit_tests"]


def as_text(value: Any) -> str | None:
    """Return a value as both sides print it."""
    if isinstance(value, Decimal):
        value = value.normalize()
    return None if value is None else str(value).removesuffix("+00:00")


@pytest.mark.parametrize("unit_test", UNIT_TESTS, ids=lambda each: each["name"])
def test_a_unit_test_of_staging_holds(unit_test):
    table = unit_test["model"].removeprefix("stg_")
    (rows,) = (each["rows"] for each in unit_test["given"] if table in each["input"])
    sandbox = FeedSandbox()
    columns = {*TABLES[table], *(column for row in rows for column in row)}
    sandbox.deliver(table, dict.fromkeys(columns, "varchar"), rows)
    expected = unit_test["expect"]["rows"]
    staged = [
        {column: as_text(row[column]) for column in expected[0]}
        for row in sandbox.staged(table)
    ]
    told = [{c: as_text(v) for c, v in row.items()} for row in expected]
    assert sorted(staged, key=str) == sorted(told, key=str)
