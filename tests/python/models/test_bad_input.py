"""Each line about raw rows in docs/bad-input.md is true."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Decimal

import pytest
from compiled import compile_models
from oracle.contract import TABLES
from pipeline import Pipeline
from projects import ROOT

from dbt_spark_session.queries import replaced
from dbt_spark_session.session import with_settings

pytestmark = pytest.mark.spark

PAGE = (ROOT / "docs" / "bad-input.md").read_text(encoding="utf-8")
DELIVERED = re.compile(r"(?P<column>\w+)=`(?P<value>[^`]*)`")
FIRST_ID = 1000

CLEAN = {
    "is_active": "true",
    "date_created": "2026-01-01 00:00:00",
    "date_modified": "2026-06-01 00:00:00",
    "sf_date_created": "2026-06-02 00:00:00",
    "role_name": "Import",
    "context": "Global",
}
ROLES = {
    "data_source_permissions": "Viewer",
    "report_permissions": "View",
    "user_global_roles": "Global.Admin",
}


def characters(text: str) -> str:
    """Put characters in the place of their numbers."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)


def raw_row_lines() -> list[tuple[str, str, str, str]]:
    """Return the lines of the first table: what, raw table, deliveries, outcome."""
    section = PAGE.split("## Raw rows")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines
    ]


def deliveries(table: str, text: str, row_id: int) -> list[dict[str, str | None]]:
    """Return the raw rows that a line tells of."""
    rows = []
    for part in text.split(" / "):
        row = dict.fromkeys(TABLES[table]) | {
            name: value for name, value in CLEAN.items() if name in TABLES[table]
        }
        row |= {name: "1" for name in row if name.endswith("_id")}
        if "user_group_id" in row and table.endswith("permissions"):
            row["user_group_id"] = None
        if table in ROLES:
            row["role_name"] = ROLES[table]
        row["id"] = str(row_id)
        for column, value in DELIVERED.findall(part):
            row[column] = characters(value) or None
        rows.append(row)
    return rows


@pytest.fixture(scope="module")
def models(project, parsed):
    """The compiled models."""
    return compile_models(project, project / "target" / "bad_input", parsed)


@pytest.fixture(scope="module")
def staged(spark, models):
    """Stage all lines of the page at once, each under an id of its own."""
    world = {table: [] for table in TABLES}
    for number, (_, table, text, _) in enumerate(raw_row_lines()):
        world[table] += deliveries(table, text, FIRST_ID + number)
    pipeline = Pipeline(spark, models)
    names = {model.name for model in models if model.name.startswith("stg_")}
    results = pipeline.run(world, only=names)
    return {
        name.removeprefix("stg_"): [row.asDict() for row in frame.collect()]
        for name, frame in results.items()
    }


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
        found = "null" if row[column] is None else str(row[column])
        assert found == characters(value)


@pytest.mark.parametrize("ansi", ["true", "false"])
@pytest.mark.parametrize("score", ["0", "0.0000001", "-0.00005", "7.25"])
def test_a_decimal_of_many_places_is_read_as_its_digits(spark, models, ansi, score):
    (model,) = (model for model in models if model.name == "stg_meta_tables")
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
