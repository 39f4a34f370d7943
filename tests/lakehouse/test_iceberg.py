"""Raw tables of Iceberg, in a catalog of their own, and what is built from them.

Iceberg's runtime on the package index is of Spark 3.5: `make test-lakehouse`. The tests
share one lakehouse, in which each changes tables that the others leave alone.
"""

from __future__ import annotations

import json
import subprocess

import pytest
from lakehouse import OF_THE_CLOCK, PUBLISHED, RAW, Lakehouse


@pytest.fixture(scope="module")
def lakehouse(of_parquet) -> Lakehouse:
    """The same, built from the same raw tables in Iceberg."""
    lakehouse, _ = of_parquet
    lakehouse.copy_raw_tables()
    lakehouse.run()
    return lakehouse


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
    assert lakehouse.changed_by() <= OF_THE_CLOCK
    # Nothing but a column's name: no other snapshot.
    anew = lakehouse.changed_by(f"alter table {RAW}.events add column note string")
    assert "stg_events" in anew and "stg_users" not in anew
    # The same columns by their names, without their values.
    events = f"alter table {RAW}.events"
    again = (f"{events} drop column note", f"{events} add column note string")
    assert "stg_events" in lakehouse.changed_by(*again)
    anew = lakehouse.changed_by(f"insert into {RAW}.jobs select * from {RAW}.jobs")
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


def timeline(lakehouse: Lakehouse, user_id: int) -> dict:
    """Return the timeline of a user, over the memberships that are there now."""
    asked = json.dumps({"user": str(user_id), "format": "json"})
    given = json.dumps({"raw_schema": RAW, "feeds": OF_THE_PRESENT})
    operation = ("--quiet", "run-operation", "timeline", "--args", asked)
    code, printed = lakehouse.dbt(*operation, "--vars", given)
    assert code == 0, printed[-4000:]
    return json.loads(printed[printed.index("{") :])


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
    told = timeline(lakehouse, first[0][1])
    assert told["known_since"].keys() == {MEMBERS}
    deleted = {"table": MEMBERS, "id": first[0][0], "effect": "takes"}
    deleted |= {"is_deleted": True}
    lost = [each for each in told["changes"] if each["change"] == "lost"]
    assert lost[-1]["at"] > moment and lost[-1]["rows"] == [deleted]
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
    # The test before lets a feed hold the present, so there is a past since then alone.
    now = moment_of(lakehouse)[:19].replace(" ", "T")
    code, said = ask(f"who hpark --as-of {now}")
    assert not code and "Spark copies raw tables of other catalogs" in said
    assert "User 8, Hyun-woo Park (hpark)" in said and "Group" in said
    code, said = ask(f"who hpark --as-of {now} --engine duckdb")
    assert code and f"{RAW}.users is in another catalog, whose files are not" in said
