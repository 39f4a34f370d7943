"""What is printed after a run, line by line."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace

import agate
import pytest

from secure_datasets.runs import summary

RUN = {"as_of": None, "schema": "s", "threads": 1}


def built(name: str, status: str = "success", **node: object) -> SimpleNamespace:
    """Return the result of a model."""
    known = {"name": name, "resource_type": "model", "columns": {}, **node}
    known["relation_name"] = f"s.{name}"
    return SimpleNamespace(
        node=SimpleNamespace(**known), status=status, execution_time=2.34
    )


def test_a_run_names_what_it_published_with_rows_users_and_seconds():
    asked = []

    def run_query(query: str) -> SimpleNamespace:
        asked.append(query)
        first = [Decimal(0), Decimal(7), None]
        return SimpleNamespace(rows=[first, [Decimal(1), Decimal(12), Decimal(3)]])

    results = [
        built("vw_secure_dataset_jobs"),
        built("stg_users"),
        built("vw_broken", "error"),
        built("rejected_rows"),
    ]
    lines = summary.run_summary(None, {}, results, RUN | {"threads": 2}, run_query)
    assert lines == [
        "",
        "relation                rows  users  seconds",
        "--------------------------------------------",
        "rejected_rows              7      -      2.3",
        "vw_secure_dataset_jobs    12      3      2.3",
        "",
        "2 models at once share one Spark: the seconds of each include those in which"
        " it waited for another.",
    ]
    assert "0 as place,\n    count(*) as row_count,\n    cast(null" in asked[0]
    assert "count(distinct user_id) as users\nfrom s.vw_secure" in asked[0]


def test_a_run_that_published_nothing_says_nothing():
    assert summary.run_summary(None, {}, [built("stg_users")], RUN, None) == []


def test_a_past_state_names_its_moment_and_counts_its_deliveries():
    asked = []

    def run_query(query: str) -> SimpleNamespace:
        asked.append(query)
        rows = [[0, "users", 5, 1, 0], [1, "projects", 2, 0, 1]]
        return SimpleNamespace(rows=rows)

    macros = {
        "repository_tables": lambda: ["users", "jobs", "projects"],
        "feed_of": lambda name: None,
        "delivered_values": lambda name, columns: f"select * from raw_{name}",
    }
    adapter = SimpleNamespace(as_of_text=lambda value: f"{value} 00:00:00")
    results = [built("stg_users"), built("stg_projects"), built("stg_jobs", "error")]
    run = RUN | {"as_of": "2026-05-01"}
    lines = summary.run_summary(adapter, macros, results, run, run_query)
    assert lines[0] == (
        "As of 2026-05-01 00:00:00 UTC, by the definitions of today, in the schema s."
    )
    assert [line.split() for line in lines[4:7]] == [
        ["users", "5", "1", "0"],
        ["projects", "2", "0", "1"],
        ["all", "of", "them", "7", "1", "1"],
    ]
    assert "raw_users" in asked[0]
    assert "raw_jobs" not in asked[0]


@pytest.mark.parametrize("status", ["fail", "pass"])
def test_rows_of_a_failed_test_are_printed_and_explained(status, monkeypatch):
    names = ["user_id", "resource_type", "resource", "object"]
    rows = [[None, "tier", "a", "b"], *[[7, "dataset", "jobs", "job_id=1"]] * 6]
    table = agate.Table(rows, names)
    given: list[dict] = []

    def why(question: dict, macros: object, ref: object) -> list[str]:
        given.append(question)
        return ["because"]

    monkeypatch.setattr(
        summary, "access_questions", lambda adapter: SimpleNamespace(why=why)
    )
    meta = {"print_failures": True, "explains": True}
    node = {"name": "wrong", "resource_type": "test", "config": {"meta": meta}}
    node |= {"compiled_code": "select 1"}
    silent = node | {"config": {}}
    results = [
        SimpleNamespace(node=SimpleNamespace(**each), status=status)
        for each in (node, silent)
    ]
    lines = list(summary.failures(None, {}, str, {}, results, lambda query: table))
    if status == "pass":
        assert lines == []
        return
    assert lines[:3] == ["wrong:", "", "user_id  resource_type  resource  object"]
    assert lines[4].split() == ["None", "tier", "a", "b"]
    assert lines[-6:] == ["", *["because"] * 5]
    assert (given[0]["dataset"], given[0]["row"]) == ("jobs", "job_id=1")
    assert given[0]["tier"] is given[0]["object"] is None
