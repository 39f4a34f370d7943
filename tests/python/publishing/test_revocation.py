"""The product alone, on Spark; a revocation acts at once, beside rows that move."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from own_config import PRODUCTS, document_of
from projects import ROOT, local_output
from sample import EXPECTED

# Narrowing is proven by random worlds in test_narrowing.py.
pytestmark = [pytest.mark.spark, pytest.mark.nightly]
SCHEMA, RAW = "revocation", "revocation_raw"
REVOKED_AT = "2026-11-01 02:15:00"


@pytest.fixture(scope="module")
def alone(spark, product, tmp_path_factory) -> SimpleNamespace:
    """The product, built as `make run` does: `run(...)`, `load(...)`, `seen(...)`."""
    from dbt.cli.main import dbtRunner

    folder = tmp_path_factory.mktemp("revocation")
    output = local_output(product) | {"schema": SCHEMA}
    profile = {"target": "local", "outputs": {"local": output}}
    (folder / "profiles.yml").write_text(yaml.safe_dump({"secure_datasets": profile}))
    deliveries = itertools.count()
    seeds = {path.stem: path for path in (product / "seeds/repository").glob("*.csv")}

    def load(name: str, *rows: dict[str, str]) -> None:
        held = spark.read.csv(str(seeds[name]), header=True, multiLine=True, escape='"')
        for row in rows:
            values = [row.get(column) for column in held.columns]
            held = held.union(spark.createDataFrame([values], held.schema))
        table = f"{RAW}.{name}_{next(deliveries)}"
        held.coalesce(1).write.format("parquet").saveAsTable(table)
        spark.sql(f"create or replace view {RAW}.{name} as select * from {table}")

    def run(*arguments: str, **variables: object) -> tuple[bool, dict[str, str]]:
        given = {"raw_schema": RAW, "sample_schema": RAW, "summary": False, **variables}
        place = ["--project-dir", str(product), "--profiles-dir", str(folder)]
        place += ["--target-path", str(folder), "--log-path", str(folder)]
        options = ["--vars", json.dumps(given), *place]
        result = dbtRunner().invoke([*arguments, *options])
        assert result.exception is None
        return result.success, statuses(folder)

    def seen(name: str, user: int) -> set[int]:
        query = f"select job_id from {SCHEMA}.vw_secure_dataset_{name}"
        rows = spark.sql(f"{query} where user_id = {user}").collect()
        return {row[0] for row in rows}

    makefile = (ROOT / "Makefile").read_text()
    command = re.search(r"^run: .*\n\t\$\(DBT\) (.*)$", makefile, re.M)[1]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert run(*shlex.split(command), summary=True)[0]
    return SimpleNamespace(run=run, load=load, seen=seen, printed=printed.getvalue())


def statuses(folder: Path) -> dict[str, str]:
    """Return the status of each secure dataset in run_results.json."""
    results = json.loads((folder / "run_results.json").read_text())["results"]
    names = {result["unique_id"].split(".")[-1]: result["status"] for result in results}
    return {
        name.removeprefix("vw_secure_dataset_"): status
        for name, status in names.items()
        if name.startswith("vw_secure_dataset_")
    }


def test_the_product_alone_runs_on_its_raw_sample_and_ends_with_the_nine(alone):
    told = dict(re.findall(r"^(vw_secure_dataset_\w+) +(\d+) ", alone.printed, re.M))
    nine = yaml.safe_load(document_of(PRODUCTS))["datasets"]
    assert set(told) == {f"vw_secure_dataset_{name}" for name in nine}
    rows = EXPECTED["relation_rows"]
    assert {name: int(count) for name, count in told.items()} == {
        name: rows[name] for name in told
    }


@pytest.fixture
def delivered(alone) -> Callable[..., None]:
    """Deliver the end of user 14's membership of project 2, and one more job there."""
    of_both = {"date_created": REVOKED_AT, "date_modified": REVOKED_AT}
    of_both |= {"sf_date_created": REVOKED_AT}
    ended = {"id": "4", "project_id": "2", "user_id": "14", "is_active": "false"}
    alone.load("project_permissions", ended | of_both)
    job = {"id": "9001", "project_id": "2", "name": "New", "is_active": "true"}
    alone.load("jobs", job | of_both)
    yield
    alone.load("project_permissions")
    alone.load("jobs")


def test_a_revoked_right_shows_nothing_though_rows_have_moved(alone, delivered, capfd):
    before = {user: alone.seen("jobs", user) for user in (2, 6, 14)}
    assert before[14] & before[6]
    capfd.readouterr()

    is_green, status = alone.run("run", "--selector", "rights")

    assert is_green
    assert alone.seen("jobs", 14) == before[14] - before[6]
    assert alone.seen("job_executions", 14).isdisjoint(before[6])
    # New rows and new rights wait.
    assert {user: alone.seen("jobs", user) for user in (2, 6)} == {
        user: before[user] for user in (2, 6)
    }
    assert {name for name, found in status.items() if found == "warn"} == {
        "jobs",
        "job_executions",
    }
    printed = capfd.readouterr().out
    last = " ".join(printed[printed.index("Completed with 2 warnings") :].split())
    assert "'vw_secure_dataset_jobs' shows the rows of before, to those who may" in last
    assert "Run '+vw_secure_dataset_jobs'." in last

    # A production run fails.
    moved = ("vw_secure_dataset_jobs", "vw_secure_dataset_job_executions")
    is_green, status = alone.run("run", "--select", *moved, stayed="error")
    assert not is_green
    assert status["jobs"] == status["job_executions"] == "error"
    assert alone.seen("jobs", 14) == before[14] - before[6]

    # As the message says.
    is_green, status = alone.run("run", "--select", *(f"+{name}" for name in moved))
    assert is_green
    assert set(status.values()) == {"success"}
    assert 9001 in alone.seen("jobs", 6)
    assert alone.seen("jobs", 14) == before[14] - before[6]
