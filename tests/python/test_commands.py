"""What the commands print for people."""

from __future__ import annotations

import json
import re

import pytest
import yaml
from conftest import ROOT

pytestmark = pytest.mark.spark

EXPECTED = yaml.safe_load((ROOT / "tests/python/sample_expectations.yml").read_text())


@pytest.fixture
def who(built, dbt, capfd):
    """Call the command; return what it printed."""

    def call(user: str) -> str:
        result = dbt("--quiet", "run-operation", "who", "--args", f"{{user: '{user}'}}")
        printed = capfd.readouterr().out
        return printed if result.success else f"{printed}\n{result.exception}"

    return call


@pytest.mark.parametrize("user", ["8", "hpark", "HPARK"])
def test_who_tells_what_a_user_sees_and_through_what(who, user):
    printed = who(user)
    assert "User 8, Hyun-woo Park (hpark)" in printed
    assert re.search(
        r'data source +card_payments +Group - View Metadata +Group "Data Quality Team"',
        printed,
    )
    assert re.search(r'results +crm in Warehouse Regression +- +Group "', printed)
    rows = dict(re.findall(r"vw_secure_dataset_(\w+) +\w+ +(\d+)", printed))
    told = EXPECTED["secure_dataset_rows"][8]
    assert {name: int(rows[name]) for name in told} == told


def test_who_names_every_kind_of_path(who):
    assert re.search(r"core_banking +Multiple +Data Source Owner, User\n", who("3"))


def test_who_says_that_a_user_is_not_active(who):
    printed = who("dvolkov")
    assert "not active, so nothing but the global events" in printed
    assert re.search(r"vw_secure_dataset_event_history +context +6\n", printed)


@pytest.mark.parametrize("user", ["nobody", "'; drop view x; --", "\\\\"])
def test_who_says_that_there_is_no_such_user(who, user):
    user = user.replace("'", "''")
    assert "there is no user with the id, login name or e-mail address" in who(user)


def test_a_run_ends_with_a_summary_of_what_it_published(built, dbt, capfd):
    assert dbt("run", "--select", "vw_secure_dataset_tables").success
    printed = capfd.readouterr().out
    assert re.search(r"relation +rows +users +seconds\n-+\n", printed)
    rows = EXPECTED["relation_rows"]["vw_secure_dataset_tables"]
    assert re.search(rf"vw_secure_dataset_tables +{rows} +31 +\d+\.\d\n", printed)


def test_the_summary_can_be_switched_off(built, dbt, capfd):
    arguments = ["--select", "vw_secure_dataset_tables", "--vars", "{summary: false}"]
    assert dbt("run", *arguments).success
    assert "relation" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("threshold", "code", "status"), [(1000, 0, "warn"), (1, 1, "fail")]
)
def test_an_orchestrator_tells_rejects_over_the_threshold_from_success(
    built, dbt, project, threshold, code, status
):
    arguments = ["--select", "assert_few_rows_are_rejected"]
    arguments += ["--vars", f"{{rejected_rows_error_threshold: {threshold}}}"]
    # What dbt's command line turns into its exit code: 0, or 1 for a failure.
    assert int(not dbt("test", *arguments).success) == code
    results = json.loads((project / "target/run_results.json").read_text())["results"]
    told = {result["unique_id"]: result["status"] for result in results}
    assert told["test.secure_datasets.assert_few_rows_are_rejected"] == status


def test_a_run_shows_its_progress(built, dbt, capfd):
    assert dbt("run", "--select", "vw_secure_dataset_jobs").success
    printed = capfd.readouterr().out
    assert re.search(r"1 of 1 START sql view model \S+vw_secure_dataset_jobs", printed)
    assert re.search(r"1 of 1 OK created sql view model", printed)
