"""Readers' views and functions on servers: made by a run, and what readers get."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from harness import LOOPBACK, RUN_SQL, Deployment, connect_server, thrift_server
from pyhive import exc, hive

pytestmark = [pytest.mark.spark, pytest.mark.deployment]

VIEWS = "secure_datasets_readers"
ACCOUNTS = "security.reader_accounts"
BOTH = {"readers_views": True, "readers_functions": True, "reader_accounts": ACCOUNTS}
BUILD = ("--exclude-resource-type", "test", "--exclude-resource-type", "unit_test")
# Fails with the name of the first test that is not among those that user 8 sees.
PRINTS = "where cast(case when test_id in ({}) then '1' else test_name end as int) = 1"


def build(deployment: Deployment, *selected: str, **variables: object) -> None:
    """Load and run the sample, or what is selected, with these vars."""
    given = json.dumps({"summary": False, **variables})
    code, printed = deployment.dbt("build", *BUILD, *selected, "--vars", given)
    assert code == 0, printed[-4000:]


def answers(deployment: Deployment, *statements: str) -> list:
    """Run statements in a session of Spark Connect; return the rows of each."""
    file = deployment.folder / "statements.json"
    file.write_text(json.dumps(statements))
    return json.loads(deployment.python(RUN_SQL, str(file)))


def map_accounts(deployment: Deployment, accounts: dict[str, int]) -> None:
    """Make the relation that maps accounts to users."""
    rows = ", ".join(f"('{name}', {user}L)" for name, user in accounts.items())
    answers(
        deployment,
        "create schema if not exists security",
        f"create table {ACCOUNTS} using parquet as"
        f" select * from values {rows} as accounts (account, user_id)",
    )


def assert_paths_are_kept(deployment: Deployment) -> None:
    """Nothing may call functions by the path of who reads it."""
    told = answers(
        deployment,
        f"describe extended {VIEWS}.tests",
        "describe extended secure_datasets.vw_secure_dataset_tests",
        "describe function extended secure_datasets.tests_of",
    )
    for rows in told:
        assert any("SQL Path" in row[0] for row in rows)


@contextmanager
def asking(port: int, account: str) -> Iterator[hive.Cursor]:
    """Open a session of the Thrift server with an account."""
    connection = hive.connect(LOOPBACK, port, username=account)
    try:
        yield connection.cursor()
    finally:
        connection.close()


def test_a_thrift_server_gives_each_account_its_own_rows(tmp_path):
    deployment = Deployment(tmp_path / "project", "thrift")
    with thrift_server(tmp_path) as (port, connect_port):
        deployment.output["port"] = port
        deployment.parameters["spark.remote"] = f"sc://{LOOPBACK}:{connect_port}"
        deployment.write_profile()
        map_accounts(deployment, {"eight": 8, "nine": 9})
        build(deployment, **BOTH)
        assert_paths_are_kept(deployment)
        seen = {}
        for account in ("eight", "nine", "nobody", "Eight"):
            with asking(port, account) as cursor:
                cursor.execute(f"select distinct user_id from {VIEWS}.tests")
                seen[account] = cursor.fetchall()
                cursor.execute(f"select 1 from {VIEWS}.event_history")
                assert bool(cursor.fetchall()) == bool(seen[account]), account
        assert seen == {"eight": [(8,)], "nine": [(9,)], "nobody": [], "Eight": []}
        with asking(port, "eight") as cursor:
            cursor.execute(f"select test_id from {VIEWS}.tests")
            prints = PRINTS.format(
                ", ".join(str(test) for (test,) in cursor.fetchall())
            )
            for reader in (
                "secure_datasets_readers.tests",
                "secure_datasets.tests_of(8)",
            ):
                cursor.execute(f"select count(*) > 0 from {reader} {prints}")
                assert cursor.fetchall() == [(True,)], reader
            with pytest.raises(exc.OperationalError, match="CAST_INVALID_INPUT"):
                cursor.execute(
                    f"select * from secure_datasets.vw_secure_dataset_tests {prints}"
                    " and user_id = 8"
                )
                cursor.fetchall()


def test_spark_connect_serves_the_function_and_knows_one_account(tmp_path):
    deployment = Deployment(tmp_path / "project", "connect")
    with connect_server(tmp_path) as port:
        deployment.parameters["spark.remote"] = f"sc://{LOOPBACK}:{port}"
        deployment.write_profile()
        [[[account]]] = answers(deployment, "select current_user()")
        map_accounts(deployment, {account: 8})
        build(deployment, **BOTH)
        assert_paths_are_kept(deployment)
        (tests,) = answers(deployment, f"select test_id from {VIEWS}.tests")
        prints = PRINTS.format(", ".join(str(test) for (test,) in tests))
        of_function, of_view = answers(
            deployment,
            f"select user_id, count(*) from secure_datasets.tests_of(8) {prints}"
            " group by 1",
            f"select user_id, count(*) from {VIEWS}.tests {prints} group by 1",
        )
        assert of_function == of_view
        assert [user for user, _ in of_view] == [8]
        # A run may have forgotten the variable; the operation takes its word.
        functions_alone = {"summary": False, "readers_functions": True}
        build(deployment, "--select", "vw_secure_dataset_jobs", **functions_alone)
        assert len(*answers(deployment, f"show tables in {VIEWS}")) == 12
        publish = ("publish_readers_objects", "--vars", json.dumps(functions_alone))
        code, printed = deployment.dbt("run-operation", *publish)
        assert code == 0, printed[-4000:]
        tables, functions = answers(
            deployment,
            f"show tables in {VIEWS}",
            "show user functions in secure_datasets",
        )
        assert tables == []
        assert len(functions) == 12
