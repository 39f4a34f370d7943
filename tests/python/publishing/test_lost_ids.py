"""A raw table that lost its ids stops what is below, until the loss is meant."""

from __future__ import annotations

import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from small_project import small_project

SCHEMA = "lost_ids"
RAW = f"{SCHEMA}_raw"
TEST = "keeps_most_ids_stg_users_user_id__users"
UNREADABLE = "case when col1 is null then 'unreadable id' end"
MODELS = {
    # However few versions stay, the one that passed last does.
    "models/stg_users.sql": "{{ config(versions_to_keep=1) }}"
    f"select user_id, rejection_reason, is_live, is_deleted from {RAW}.users",
    "models/below.sql": "select user_id from {{ ref('stg_users') }}",
    "models/_models.yml": json.dumps(
        {
            "models": [
                {
                    "name": "stg_users",
                    "columns": [
                        {
                            "name": "user_id",
                            "data_tests": [
                                {"keeps_most_ids": {"arguments": {"table": "users"}}}
                            ],
                        }
                    ],
                }
            ]
        }
    ),
}


@pytest.fixture(scope="module")
def feed(project, tmp_path_factory):
    """A project with one staged table and a model below it."""
    folder = tmp_path_factory.mktemp("lost") / "project"
    return small_project(folder, project, SCHEMA, MODELS)


@pytest.fixture(scope="module")
def deliver(spark):
    """Deliver ids, all others being gone: `deliver(1, 2)`; None is one unreadable."""
    spark.sql(f"create schema {RAW}")

    def call(
        *ids: int | None, rejected: str = UNREADABLE, deleted: tuple[int, ...] = ()
    ) -> None:
        values = ", ".join(f"({'null' if each is None else each})" for each in ids)
        rows = f"values {values}" if ids else "values (1) limit 0"
        spark.sql(
            f"create or replace view {RAW}.users as"
            " select cast(col1 as bigint) as user_id,"
            f" {rejected} as rejection_reason, {rejected} is null and not is_deleted"
            f" as is_live, is_deleted from (select *, col1 in {(-1, *deleted, -2)} and"
            f" col1 is not null as is_deleted from ({rows}))"
        )

    yield call
    for schema in (RAW, SCHEMA, f"{SCHEMA}_versions"):
        spark.sql(f"drop schema if exists {schema} cascade")


@pytest.fixture(scope="module")
def dbt_on(dbt, feed):
    """Call dbt on the project; return the status of each node by its name.

    With other variables dbt would parse anew: here it does once for each.
    """
    manifests: dict[str, object] = {}

    def call(command: str, *models: str, **variables: object) -> dict[str, str]:
        given = ("--vars", json.dumps({"summary": False, **variables}))
        if given[1] not in manifests:
            parsed = dbt("parse", "--quiet", *given, folder=feed)
            assert parsed.success, parsed.exception
            manifests[given[1]] = parsed.result
        selected = ["--select", *(models or ("stg_users", "below"))]
        known = manifests[given[1]]
        result = dbt(command, *selected, *given, folder=feed, manifest=known)
        assert result.result is not None, result.exception
        return {each.node.name: str(each.status) for each in result.result}

    return call


def of(statuses: dict[str, str]) -> tuple[str | None, str | None]:
    """Return how the test and the model below the table ended."""
    return statuses.get(TEST), statuses.get("below")


@pytest.mark.spark
def test_a_lost_table_stays_lost_until_somebody_says_that_it_is_meant(
    deliver, dbt_on, spark, capfd
):
    deliver(*range(8))
    assert of(dbt_on("build")) == ("pass", "success"), "there is nothing before"
    deliver(*range(3, 20))
    assert of(dbt_on("build")) == ("pass", "success"), "three of eight went"

    # A row that can't be read is none.
    deliver(*range(3, 20), rejected="'unreadable date_modified'")
    capfd.readouterr()
    assert of(dbt_on("build")) == ("fail", "skipped")
    assert "users       17          0        17" in capfd.readouterr().out
    below = f"select count(*) from {SCHEMA}.below"
    assert spark.sql(below).first()[0] == 17, "what was there before is still there"

    assert of(dbt_on("build")) == ("fail", "skipped"), "tried again"
    for _ in range(2):
        assert dbt_on("run", "stg_users")["stg_users"] == "success"
    assert dbt_on("test")[TEST] == "fail", "after runs that asked for no test"

    meant = dbt_on("build", meant_losses=["users"])
    assert of(meant) == ("pass", "success")
    assert of(dbt_on("build")) == ("pass", "success"), "said once, it is enough"

    deliver(*range(10))
    assert of(dbt_on("build")) == ("pass", "success"), "nothing is lost of nothing"
    deliver(*range(10), deleted=tuple(range(9)))
    assert of(dbt_on("build")) == ("pass", "success"), "nine are said to be deleted, F6"


@pytest.mark.nightly
@pytest.mark.spark
def test_a_replica_lost_nothing_of_the_sample(deliver, dbt, dbt_on, feed, spark):
    deliver(100)
    assert of(dbt_on("build", meant_losses=["users"])) == ("pass", "success")
    deliver(200)
    spark.sql("create schema replica")
    try:
        replica = dbt_on("build", raw_schema="replica")
    finally:
        spark.sql("drop schema replica")
    assert of(replica) == ("pass", "success")
    told = str(dbt("build", "--select", "stg_users", folder=feed).exception)
    assert "shows was read from the raw tables in replica, and this run would" in told
    spark.sql(re.search(r"alter schema .*\)(?=\.)", told)[0])
    assert of(dbt_on("build")) == ("fail", "skipped")


@pytest.mark.nightly
@pytest.mark.spark
def test_f6_a_deletion_that_is_said_is_not_lost(deliver, dbt_on, capfd):
    def build(**variables: object) -> str | None:
        return dbt_on("build", **variables).get(TEST)

    deliver(*range(10))
    assert build(meant_losses=["users"]) == "pass"
    deliver(*range(10), deleted=tuple(range(9)))
    assert build() == "pass", "nine of ten are said to be deleted"
    deliver(*range(10), deleted=tuple(range(10)))
    capfd.readouterr()
    assert build() == "fail", "of those that were live, none is"
    told = capfd.readouterr().out
    assert "live_before  live_now" in told
    assert build(meant_losses=["users"]) == "pass"


@pytest.mark.nightly
@pytest.mark.spark
def test_f5_a_load_that_lacks_too_many_ids_is_lost(deliver, dbt_on):
    loads = {"users": {"kind": "snapshots", "moment": "sf_date_created"}}

    def build(**variables: object) -> tuple[str | None, str | None]:
        return of(dbt_on("build", feeds=loads, **variables))

    deliver(*range(10))
    assert build(meant_losses=["users"]) == ("pass", "success")
    deliver(*range(10), deleted=(0, 1, 2))
    assert build() == ("pass", "success"), "few are gone"
    deliver(*range(10), deleted=tuple(range(8)))
    assert build() == ("fail", "skipped"), "five of seven"
    assert build() == ("fail", "skipped"), "tried again"
    deliver(*range(10), deleted=(0, 1))
    assert build() == ("pass", "success"), "a later load brings them back"
    deliver(*range(10), deleted=tuple(range(8)))
    assert build(meant_losses=["users"]) == ("pass", "success")


@contextmanager
def another_run(spark) -> Iterator[None]:
    """Let another run build for as long as this lasts."""
    view = f"{SCHEMA}_versions.live_run_of_another"
    spark.sql(f"create view {view} tblproperties ('building' = 'yes') as select 1 as a")
    ended = threading.Event()

    def give_signs_of_life() -> None:
        count = 0
        while not ended.wait(0.1):
            count += 1
            spark.sql(f"alter view {view} set tblproperties ('signs' = '{count}')")

    thread = threading.Thread(target=give_signs_of_life)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        spark.sql(f"drop view {view}")


@pytest.mark.nightly
@pytest.mark.spark
def test_what_passed_beside_another_run_is_noted_by_the_next_test(
    deliver, dbt_on, spark, capfd
):
    def accepted() -> int:
        ids = f"select max(id) from {SCHEMA}.accepted_ids_of_sample"
        return spark.sql(ids).first()[0]

    deliver(1, 2, 3)
    assert of(dbt_on("build", meant_losses=["users"])) == ("pass", "success")
    deliver(1, 2, 3, 4)
    dbt_on("run", "stg_users")
    with another_run(spark):
        assert dbt_on("test", run_lock_seconds=1)[TEST] == "pass"
    assert "Another dbt run is building, so it is not" in capfd.readouterr().out
    assert accepted() == 3
    assert dbt_on("test")[TEST] == "pass"
    assert accepted() == 4
    assert not spark.sql(f"show views in {SCHEMA}_versions like 'live_run*'").collect()


@pytest.mark.nightly
@pytest.mark.spark
def test_staging_may_have_a_schema_of_its_own(deliver, dbt, feed, spark, tmp_path):
    folder = tmp_path / "project"
    shutil.copytree(feed, folder, ignore=shutil.ignore_patterns("target", "logs"))
    model = folder / "models/stg_users.sql"
    model.write_text("{{ config(schema='lost_ids_staging') }}" + model.read_text())
    statuses = []
    for ids in ((1, 2, 3, 4), ()):
        deliver(*ids)
        options = ("--select", "stg_users", "below", "--vars", "{summary: false}")
        result = dbt("build", *options, folder=folder)
        statuses.append(of({e.node.name: str(e.status) for e in result.result}))
    spark.sql(f"drop view {SCHEMA}.accepted_ids_of_sample")
    for schema in ("lost_ids_staging", "lost_ids_staging_versions"):
        spark.sql(f"drop schema {schema} cascade")
    assert statuses == [("pass", "success"), ("fail", "skipped")]


@pytest.mark.nightly
@pytest.mark.spark
def test_what_passed_is_noted_where_no_model_is_in_the_targets_schema(
    deliver, dbt, feed, spark, tmp_path
):
    folder = tmp_path / "project"
    shutil.copytree(feed, folder, ignore=shutil.ignore_patterns("target", "logs"))
    own = "{{ config(schema='lost_ids_all') }}"
    for model in (folder / "models").glob("*.sql"):
        model.write_text(own + model.read_text())
    profiles = folder / "profiles.yml"
    target = f"schema: {SCHEMA}"
    assert target in profiles.read_text()
    profiles.write_text(profiles.read_text().replace(target, "schema: lost_ids_target"))
    deliver(1, 2)
    options = ("--select", "stg_users", "below", "--vars", "{summary: false}")
    result = dbt("build", *options, folder=folder)
    noted = "select id from lost_ids_target.accepted_ids_of_sample order by id"
    try:
        assert result.success, result.exception
        assert [row.id for row in spark.sql(noted).collect()] == [1, 2]
    finally:
        for schema in ("lost_ids_target", "lost_ids_all", "lost_ids_all_versions"):
            spark.sql(f"drop schema if exists {schema} cascade")


@pytest.mark.nightly
@pytest.mark.spark
def test_ids_of_which_nothing_can_be_read_any_more_are_lost(
    deliver, dbt_on, spark, capfd
):
    deliver(1, 2, 3, 4)
    assert of(dbt_on("build", meant_losses=["users"])) == ("pass", "success")
    deliver(1, 2, 3, 4, rejected="case when col1 > 3 then 'unreadable date' end")
    assert of(dbt_on("build")) == ("pass", "success"), "one of four"
    # As after a loader has begun to write all days in another way.
    deliver(1, 2, 3, 4, rejected="'unreadable date_modified'")
    capfd.readouterr()
    assert of(dbt_on("build")) == ("fail", "skipped")
    assert re.search(r"users +3 +0 +3\b", capfd.readouterr().out)
    assert spark.table(f"{SCHEMA}.below").count() == 4


@pytest.mark.nightly
@pytest.mark.spark
def test_the_share_that_fails_is_a_variable(deliver, dbt_on):
    deliver(1, 2, 3, 4)
    assert of(dbt_on("build", meant_losses=["users"])) == ("pass", "success")
    deliver(3, 4, 5, 6, 7)
    assert of(dbt_on("build")) == ("fail", "skipped"), "half of them went"
    assert dbt_on("test", lost_rows_error_share=0.51)[TEST] == "pass"
    deliver(3, 4, 5, 6)
    built = dbt_on("build", lost_rows_error_share=0)
    assert of(built) == ("fail", "skipped"), "one of five, and none may go"
    deliver()
    built = dbt_on("build", lost_rows_error_share=1)
    assert of(built) == ("fail", "skipped"), "a table that is empty always fails"


def test_without_a_look_at_the_versions_a_table_is_compared_with_itself(dbt, feed):
    options = ("--quiet", "--no-introspect", "--no-populate-cache")
    compiled = dbt("compile", "--select", "stg_users", *options, folder=feed)
    (text,) = [
        each.node.compiled_code for each in compiled.result if each.node.name == TEST
    ]
    assert text.count(f"from {SCHEMA}.stg_users") == 2


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        (
            {"meant_losses": ["user"]},
            "meant_losses names 'user', which is no raw table",
        ),
        (
            {"meant_losses": "users"},
            "meant_losses is 'users'; it must be a list of raw",
        ),
        ({"lost_rows_error_share": 2}, "it must be a number from 0 to 1"),
        ({"lost_rows_error_share": "half"}, "lost_rows_error_share is 'half'"),
    ],
)
def test_a_variable_that_means_nothing_stops_dbt_with_a_sentence(
    dbt, feed, variables, told
):
    result = dbt("parse", "--vars", json.dumps(variables), folder=feed)
    assert not result.success
    assert told in str(result.exception)
