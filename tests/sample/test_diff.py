"""What changes between two states, as dbt compares them on Spark."""

from __future__ import annotations

import pytest
from sample import EXPECTED

pytestmark = pytest.mark.spark

USER = 8
# What tells of users, each without this one.
OF_USERS = ("vw_secure_", "explained_access_paths")


@pytest.fixture(scope="module")
def later(spark, built):
    """A state in which one user is no longer live: views over what is built."""
    schema = "later"
    spark.sql(f"create schema {schema}")
    for row in spark.sql("show tables in secure_datasets").collect():
        name, query = row.tableName, f"select * from secure_datasets.{row.tableName}"
        if name == "stg_users":
            query = (
                f"select * except (is_live), is_live and user_id != {USER} as is_live"
                " from secure_datasets.stg_users"
            )
        elif name.startswith(OF_USERS):
            query += f" where user_id is null or user_id != {USER}"
        if not row.isTemporary:
            spark.sql(f"create view {schema}.{name} as {query}")
    yield schema
    spark.sql(f"drop schema {schema} cascade")
    for made in spark.sql("show schemas like 'access_changes_*'").collect():
        spark.sql(f"drop schema {made[0]} cascade")


def compare(dbt, before: str, after: str):
    """Build the comparison; return dbt's result."""
    variables = f"{{before: {before}, after: {after}}}"
    return dbt(
        *("--quiet", "build", "--select", "tag:access_changes", "--vars", variables)
    )


@pytest.mark.nightly
def test_D1_what_a_user_loses_is_told_with_its_cause(later, dbt, rows, project, capfd):
    result = compare(dbt, "secure_datasets", later)
    assert result.success, result.exception
    schema = f"access_changes_secure_datasets_to_{later}"
    held = {
        tier: rows(f"select count(*) from {view} where user_id = {USER}")[0][0]
        for tier, view in (
            ("data_source", "vw_secure_user_data_source_access"),
            ("project", "vw_secure_user_project_access"),
            ("results", "vw_secure_user_results_access"),
            ("reports", "vw_secure_user_report_access"),
        )
    }
    found = rows(f"select tier, user_id, change, causes from {schema}.access_changes")
    assert {(u, c, *causes) for _, u, c, causes in found} == {
        (USER, "lost", f"users {USER} went")
    }
    counts = {tier: sum(row[0] == tier for row in found) for tier in held}
    assert counts == held
    lost = dict(
        rows(
            f"select dataset, rows_lost from {schema}.row_changes"
            f" where user_id = {USER}"
        )
    )
    told = EXPECTED["secure_dataset_rows"][USER]
    own = {
        name: rows(
            f"select count(*) from vw_secure_dataset_{name} where user_id = {USER}"
        )[0][0]
        for name in told
    }
    assert {name: lost.get(name, 0) for name in told} == own
    report = (project / "target/access_changes.md").read_text(encoding="utf-8")
    # The run's end has what fits a screen.
    printed = capfd.readouterr().out
    assert "All of it: target/access_changes.md" in printed
    summary = [line for line in report.splitlines() if "loses access to" in line]
    assert summary and all(line in printed for line in summary)
    assert f"1 user loses access to {len(found)} objects" in report
    assert f"Hyun-woo Park (user {USER})" in report


def test_D6_the_sides_of_a_comparison_are_looked_at_by_an_operation(later, dbt):
    variables = f"{{before: secure_datasets, after: {later}}}"
    asked = ("--quiet", "run-operation", "secure_datasets.check_comparison")
    result = dbt(*asked, "--vars", variables)
    assert result.success, result.exception


@pytest.mark.nightly
def test_D4_a_limit_that_is_exceeded_fails_with_its_name(later, dbt, project, capfd):
    result = compare(dbt, later, "secure_datasets")
    assert not result.success
    printed = capfd.readouterr().out
    assert "assert_access_changes_are_within_limits:" in printed
    report = (project / "target/access_changes.md").read_text(encoding="utf-8")
    for told in (printed, report):
        assert "nobody gains executions by a change" in told
    assert "**not approved**" in report
    assert f"users {USER} came" in report.replace("`", "")


def test_a_state_that_is_not_there_stops_before_anything_is_built(dbt, built, spark):
    result = compare(dbt, "secure_datasets", "nowhere")
    assert not result.success
    assert "There is no schema 'nowhere' to compare" in str(result.exception)
    # dbt makes the schema before it asks anybody.
    schema = "access_changes_secure_datasets_to_nowhere"
    found = spark.sql(f"show tables in {schema}").collect()
    assert [row.tableName for row in found if not row.isTemporary] == []
    spark.sql(f"drop schema {schema} cascade")
