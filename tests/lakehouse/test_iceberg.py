"""Raw tables of Iceberg, in a catalog of their own, and what is built from them.

Iceberg's runtime on the package index is of Spark 3.5: `make test-lakehouse`. The tests
share one lakehouse, in which each changes tables that the others leave alone.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from harness import READ, RUN_SQL, Deployment
from projects import ROOT, TEST_SETTINGS

VENV = ROOT / ".venv-spark-3.5"
JACKSON = VENV / "shaded_jackson.jar"
RUN = ("run", "--exclude", "tag:review", "tag:privileges", "tag:leaks")
RAW, PUBLISHED = "lake.raw", "secure_datasets"
EXTENSIONS = "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
CATALOG = "org.apache.iceberg.spark.SparkCatalog"
# What is asked of the clock is written by each run.
OF_THE_CLOCK = {"access_freshness"}


class Lakehouse(Deployment):
    """A copy of the product in Spark 3.5, beside a catalog of Iceberg's."""

    bin = VENV / "bin"

    def __init__(self, folder) -> None:
        assert JACKSON.exists(), "make test-lakehouse sets up what this needs"
        super().__init__(folder, "local")
        (runtime,) = VENV.glob(
            "lib/*/site-packages/snowpark_connect_deps_iceberg/jars/"
            "iceberg-spark-runtime-3.5_2.12-*.jar"
        )
        lake, of_hive = "spark.sql.catalog.lake", "spark.sql.catalog.of_hive"
        self.parameters.update(TEST_SETTINGS)
        self.parameters.update(
            {
                "spark.jars": f"{runtime},{JACKSON}",
                "spark.sql.extensions": EXTENSIONS,
                lake: CATALOG,
                of_hive: CATALOG,
                f"{of_hive}.type": "hive",
                # Derby has no locks of Hive's: each commit would wait for one.
                "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
                f"{lake}.type": "hadoop",
                f"{lake}.warehouse": f"{folder}/.spark/lake",
            }
        )
        self.write_profile()

    def sql(self, *statements: str) -> list[list[list[Any]]]:
        """Run statements in a session of their own; return the rows of each."""
        file = self.folder / "statements.json"
        file.write_text(json.dumps(statements))
        return json.loads(self.python(RUN_SQL, file))

    def run(self, *arguments: str, **variables: Any) -> str:
        """Run dbt over the tables of Iceberg; return what it printed."""
        variables = {"raw_schema": RAW, "summary": False, **variables}
        code, printed = self.dbt(*(arguments or RUN), "--vars", json.dumps(variables))
        assert code == 0, printed[-4000:]
        return printed

    def rows(self) -> dict[str, list]:
        """Return the rows of every relation that is published."""
        found = json.loads(self.python(READ))
        return {name: found[name] for name in found if name.startswith(PUBLISHED)}

    def state(self) -> dict[str, Any]:
        """Return what the last run has written of what is published."""
        (file,) = self.folder.glob(
            f".spark/warehouse/{PUBLISHED}_versions.db/pub*.json"
        )
        return json.loads(file.read_text())

    def versions(self) -> dict[str, str]:
        """Return the version that each stored relation shows."""
        relations = self.state()["relations"].items()
        return {name: each["version"] for name, each in relations if each["version"]}


@pytest.fixture(scope="module")
def of_parquet(tmp_path_factory) -> tuple[Lakehouse, dict[str, list]]:
    """A lakehouse in which the sample is built from Parquet, and its rows."""
    lakehouse = Lakehouse(tmp_path_factory.mktemp("lakehouse") / "product")
    code, printed = lakehouse.dbt("seed")
    assert code == 0, printed[-4000:]
    lakehouse.run(raw_schema="repository_sample")
    return lakehouse, lakehouse.rows()


@pytest.fixture(scope="module")
def lakehouse(of_parquet) -> Lakehouse:
    """The same, built from the same raw tables in Iceberg."""
    lakehouse, _ = of_parquet
    (tables,) = lakehouse.sql("show tables in repository_sample")
    copies = (
        f"create table {RAW}.{name} using iceberg as select * from {schema}.{name}"
        for schema, name, _ in tables
    )
    lakehouse.sql(f"create schema {RAW}", *copies)
    lakehouse.run()
    return lakehouse


def changed_by(lakehouse: Lakehouse, *statements: str) -> set[str]:
    """Return the relations that a run writes anew after some statements."""
    before = lakehouse.versions()
    if statements:
        lakehouse.sql(*statements)
    lakehouse.run()
    now = lakehouse.versions()
    return {name.split(".")[1] for name in now if now[name] != before[name]}


def test_a_schema_that_is_not_there_is_told(of_parquet):
    lakehouse, _ = of_parquet
    for schema in ("lake.nowhere", "sea.raw"):
        code, printed = lakehouse.dbt("run", "--vars", f"{{raw_schema: {schema}}}")
        assert code and f"{schema} has no tables" in " ".join(printed.split())


def test_iceberg_gives_the_rows_that_parquet_gives(of_parquet, lakehouse):
    of_iceberg = lakehouse.rows()
    assert of_iceberg.keys() == of_parquet[1].keys()
    differ = {n for n in of_iceberg if of_iceberg[n] != of_parquet[1][n]}
    assert differ == set()
    assert len(of_iceberg[f"{PUBLISHED}.vw_secure_dataset_test_executions"]) == 553


def test_a_snapshot_says_whether_a_table_has_changed(lakehouse):
    assert changed_by(lakehouse) <= OF_THE_CLOCK
    # Nothing but a column's name: no other snapshot.
    anew = changed_by(lakehouse, f"alter table {RAW}.events add column note string")
    assert "stg_events" in anew and "stg_users" not in anew
    # The same columns by their names, without their values.
    events = f"alter table {RAW}.events"
    again = (f"{events} drop column note", f"{events} add column note string")
    assert "stg_events" in changed_by(lakehouse, *again)
    anew = changed_by(lakehouse, f"insert into {RAW}.jobs select * from {RAW}.jobs")
    assert "stg_jobs" in anew and not anew & {"stg_users", "stg_events"}
    (now,) = lakehouse.sql(
        f"select snapshot_id from {RAW}.jobs.refs where name = 'main'"
    )
    version = lakehouse.versions()[f"{PUBLISHED}.stg_jobs"]
    (read,) = lakehouse.state()["versions"][version]["read"]
    assert read.startswith("repository.jobs:") and read.endswith(f":{now[0][0]}")


def test_a_catalog_may_be_hive_s(lakehouse):
    (before,) = lakehouse.sql(f"select * from {PUBLISHED}.stg_reports")
    lakehouse.sql(
        "create schema of_hive.replica",
        f"create table of_hive.replica.reports using iceberg"
        f" as select * from {RAW}.reports where false",
    )
    one, there = ("run", "--select", "stg_reports"), "of_hive.replica"
    lakehouse.run(*one, raw_schema=there)
    assert lakehouse.sql(f"select * from {PUBLISHED}.stg_reports") == [[]]
    lakehouse.sql(f"insert into {there}.reports select * from {RAW}.reports")
    lakehouse.run(*one, raw_schema=there)
    (now,) = lakehouse.sql(f"select * from {PUBLISHED}.stg_reports")
    assert before and sorted(map(repr, now)) == sorted(map(repr, before))


MEMBERS = "user_group_members"
STAGE = ("run", "--select", f"stg_{MEMBERS}")
OF_THE_PRESENT = {MEMBERS: {"kind": "current"}}


def moment_of(lakehouse: Lakehouse) -> str:
    """Return the moment by the engine's clock, in UTC."""
    pattern = "yyyy-MM-dd HH:mm:ss.SSSSSS"
    (rows,) = lakehouse.sql(f"select date_format(current_timestamp(), '{pattern}')")
    return rows[0][0]


def members(lakehouse: Lakehouse, schema: str) -> list[list[int]]:
    """Return the memberships that are in force by a schema's staging."""
    (rows,) = lakehouse.sql(
        f"select user_group_member_id, user_id from {schema}.stg_{MEMBERS}"
        " where is_live order by user_group_member_id"
    )
    return rows


def refused(lakehouse: Lakehouse, as_of: str) -> str:
    """Stage a past that can't be read; return what dbt printed."""
    given = {"raw_schema": RAW, "feeds": OF_THE_PRESENT, "as_of": as_of}
    code, printed = lakehouse.dbt(*STAGE, "--vars", json.dumps(given))
    assert code
    return " ".join(printed.split())


def test_what_holds_the_present_has_a_past_as_far_as_snapshots_are_kept(lakehouse):
    first, moment = members(lakehouse, PUBLISHED), moment_of(lakehouse)
    # No file of rows is written anew, but one that says which are gone.
    in_place = "('write.delete.mode' = 'merge-on-read')"
    lakehouse.sql(
        f"alter table {RAW}.{MEMBERS} set tblproperties {in_place}",
        f"delete from {RAW}.{MEMBERS} where try_cast(id as bigint) = {first[0][0]}",
    )
    lakehouse.run(*STAGE, feeds=OF_THE_PRESENT)
    assert members(lakehouse, PUBLISHED) == first[1:]
    lakehouse.run(*STAGE, feeds=OF_THE_PRESENT, as_of=moment)
    (schemas,) = lakehouse.sql(f"show schemas like '{PUBLISHED}_as_of_*'")
    (past,) = (name for (name,) in schemas if not name.endswith("_versions"))
    assert members(lakehouse, past) == first
    said = f"{RAW}.{MEMBERS} keeps no snapshot of 2026-01-01 00:00:00, but those since"
    assert said in refused(lakehouse, "2026-01-01")
    lakehouse.sql(
        f"call lake.system.expire_snapshots(table => 'raw.{MEMBERS}',"
        f" older_than => timestamp '{moment_of(lakehouse)}', retain_last => 1)"
    )
    assert f"keeps no snapshot of {moment[:19]}" in refused(lakehouse, moment)


def test_the_command_answers_about_what_is_built_from_iceberg(lakehouse):
    def ask(question: str) -> tuple[int, str]:
        command = [lakehouse.bin / "secure-datasets", *question.split()]
        done = subprocess.run(
            command, cwd=lakehouse.folder, capture_output=True, text=True
        )
        return done.returncode, done.stdout + done.stderr

    project = lakehouse.folder / "dbt_project.yml"
    text = project.read_text()
    project.write_text(
        text.replace("raw_schema: repository_sample", f"raw_schema: {RAW}")
    )
    code, said = ask("who hpark")
    assert not code and "User 8, Hyun-woo Park (hpark)" in said
    code, said = ask("timeline hpark")
    assert not code and "Group" in said
    code, said = ask("who hpark --as-of 2026-10-01")
    assert code and f"{RAW}.users is in another catalog, whose files are not" in said
