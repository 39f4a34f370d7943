"""Each line about raw rows in docs/bad-input.md is true."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal
from itertools import product

import pytest
from bad_rows import FIRST_ID, bad_world, characters, deliveries, raw_row_lines
from compiled import kept_models
from lanes import nightly_but
from oracle.contract import TABLES
from quick import LAYER, QuickProject

from dbt_secure_spark.queries import replaced
from dbt_secure_spark.session import with_settings


@pytest.fixture(scope="module")
def staged():
    """Stage all lines of the page at once; tests/dialect does the same in Spark."""
    engine = QuickProject(kept_models()).run(bad_world())
    return {table: engine.ask(f"select * from {LAYER}.stg_{table}") for table in TABLES}


@pytest.mark.parametrize(
    ("number", "line"),
    [pytest.param(n, line, id=line[0]) for n, line in enumerate(raw_row_lines())],
)
def test_a_raw_row_becomes_what_the_page_says(staged, number, line):
    what, table, text, outcome = line
    ids = {row["id"] for row in deliveries(table, text, FIRST_ID + number)}
    key = f"{table.removesuffix('s')}_id"
    read = {int(i) for i in ids if i and re.fullmatch(r"\s*\+?[0-9]{1,18}\s*", i)}
    rows = [
        row
        for row in staged[table]
        if row[key] in read or row["raw_id"] in ids - {None}
    ]
    if ids == {None}:
        rows = [row for row in staged[table] if row[key] is None and not row["raw_id"]]
    assert len(rows) == 1, f"{what}: {len(rows)} staged rows"
    (row,) = rows
    if outcome.startswith("rejected: "):
        assert row["rejection_reason"] == outcome.removeprefix("rejected: ")
        assert not row["is_live"]
        assert not row["is_deleted"]
        own = set(row) - {key, "is_live", "is_deleted", "rejection_reason"}
        kept = {"raw_id", "raw_row", "sf_date_created"}
        assert all(row[name] is None for name in own - kept), (
            "a rejected row holds data"
        )
        assert row["raw_row"]
        return
    assert row["rejection_reason"] is None
    assert row["is_live"] is (outcome != "not live")
    if " = " in outcome:
        column, value = outcome.split(" = ")
        read = row[column]
        found = "null" if read is None else str(read).removesuffix("+00:00")
        assert found == characters(value)


@pytest.mark.parametrize(
    ("score", "ansi"),
    nightly_but(
        [("0.0000001", "true"), ("-0.00005", "false")],
        product(["0", "0.0000001", "-0.00005", "7.25"], ["true", "false"]),
    ),
)
def test_a_decimal_of_many_places_is_read_as_its_digits(spark, ansi, score):
    (model,) = (model for model in kept_models() if model.name == "stg_meta_tables")
    values = dict.fromkeys(TABLES["meta_tables"], "null") | {
        "id": "1",
        "meta_schema_id": "1",
        "is_active": "true",
        "trust_score": f"cast('{score}' as decimal(38, 18))",
    }
    row = ", ".join(f"{value} as {name}" for name, value in values.items())
    sql = replaced(model.sql, "repository_sample.meta_tables", f"(select {row})")
    with with_settings(spark, {"spark.sql.ansi.enabled": ansi}):
        (staged,) = spark.sql(sql).collect()
    assert staged["rejection_reason"] is None
    places = Decimal("0.0001")
    assert staged["trust_score"] == Decimal(score).quantize(places, ROUND_HALF_UP)


def test_the_page_has_a_line_for_every_reason():
    outcomes = {line[3] for line in raw_row_lines()}
    reasons = {
        o.removeprefix("rejected: ").split()[0] for o in outcomes if "rejected" in o
    }
    assert reasons == {
        *("unreadable", "conflict", "missing", "holder", "role", "context"),
    }
    assert "rejected: context key" in outcomes
