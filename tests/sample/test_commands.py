"""What the commands print for people."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from projects import ROOT, SAMPLE
from sample import EXPECTED
from small_project import small_project

from secure_datasets.cli import NO, YES, main

pytestmark = pytest.mark.spark

NAMES = ("login_name", "first_name", "last_name")


@pytest.fixture
def ask(built, project, capfd):
    """Ask by the command, whose bytes are dbt's: the code, and what is printed."""
    assert built.success
    place = ["--project-dir", str(project), "--profiles-dir", str(project)]

    def call(*arguments: str) -> tuple[int, str]:
        capfd.readouterr()
        code = main([*arguments, *place])
        return code, capfd.readouterr().out

    return call


@pytest.fixture
def who(ask):
    """Ask what a user sees; return what is printed."""
    return lambda user: ask("who", user)[1]


@pytest.fixture
def operation(built, dbt, parsed, capfd):
    """Call `who` by dbt; return what it printed, and why it stopped."""

    def call(user: str, *more: str, manifest=parsed) -> str:
        asked = ("--args", f"{{user: '{user}'}}", *more)
        result = dbt("--quiet", "run-operation", "who", *asked, manifest=manifest)
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


def told_of_policies(printed: str) -> dict[str, list[tuple[str, str, int]]]:
    """Return the table of policies: rule, what it does and rows, by dataset."""
    told: dict[str, list[tuple[str, str, int]]] = {}
    for line in printed.split("what it does", 1)[1].splitlines()[2:]:
        cells = re.split(r"  +", line.strip())
        if len(cells) == 4:
            dataset = told.setdefault(cells.pop(0), [])
        if len(cells) == 3:
            dataset.append((cells[0], cells[1], int(cells[2])))
    return told


@pytest.fixture
def executions(rows):
    """What the sample's policies do for a user, worked out here in Python."""

    def work_out(user: int) -> list[tuple[str, str, int]]:
        roles = {
            role
            for (role,) in rows(
                f"select role_name from vw_secure_user_roles where user_id = {user}"
            )
        }
        units = rows(
            "select mapped.business_unit from map_user_group_business_units as mapped"
            " inner join vw_secure_user_roles using (user_group_id)"
            f" where user_id = {user}"
        )
        rights = set(
            rows(
                "select project_id, meta_data_source_id"
                f" from vw_secure_user_results_access where user_id = {user}"
            )
        )
        past = [
            (unit, result)
            for project, source, control, unit, result in rows(
                "select project_id, data_source_id, control_data_source_id,"
                " business_unit, result from fct_test_executions"
                " left join dim_data_sources using (data_source_id)"
            )
            if (project, source) in rights
            and (control is None or (project, control) in rights)
        ]
        by_unit = [row for row in past if (row[0],) in units and row[0]]
        shown = {
            "Data Office": past,
            "Operations": [row for row in past if row[1] in ("Failed", "Error")],
        }
        shown = {role: found if role in roles else [] for role, found in shown.items()}
        visible = [row for row in by_unit if any(row in f for f in shown.values())]
        masked = [row for row in visible if row[1] in ("Error", None)]
        if "Operations" in roles:
            masked = []
        return [
            ("tier", "lets through", len(past)),
            (
                'row security "Business units of groups"',
                "hides",
                len(past) - len(by_unit),
            ),
            *(
                (f'condition of "{role}"', "shows", len(found))
                for role, found in shown.items()
            ),
            ('mask on error_count of all but "Operations"', "masks", len(masked)),
            ("all of them", "let through", len(visible)),
        ]

    return work_out


def test_who_tells_which_policy_hid_showed_or_masked_what(who, executions, rows):
    sums = dict.fromkeys(["hides", "shows", "masks"], 0)
    for user in (8, 12, 6):
        told = told_of_policies(who(str(user)))["star_test_executions"]
        assert told == executions(user)
        ((seen,),) = rows(
            "select count(*) from vw_secure_dataset_star_test_executions"
            f" where user_id = {user}"
        )
        assert told[-1][2] == seen
        for _, verb, count in told[1:-1]:
            sums[verb] += count
    # Each kind of rule did something for somebody.
    assert all(sums.values()), sums


@pytest.mark.parametrize(
    ("user", "hides", "frees", "shows", "masks", "all_of_them"),
    [(8, 0, 0, 1, 1, 1), (33, 0, 3, 1, 0, 3), (20, 1, 0, 1, 0, 0)],
    ids=["Transform", "Allow", "Deny"],
)
def test_who_tells_what_view_authorization_does(
    who, user, hides, frees, shows, masks, all_of_them
):
    told = told_of_policies(who(str(user)))["authorized_projects"]
    assert told == [
        ("tier", "lets through", 1 if user == 20 else 3),
        ("view authorization", "hides", hides),
        ("view authorization", "frees", frees),
        ('condition of "Data Office"', "shows", shows),
        ('mask on project_name of all but "Global Admin"', "masks", masks),
        ("all of them", "let through", all_of_them),
    ]


@pytest.mark.parametrize("user", ["nobody", "'; drop view x; --", "\\\\"])
def test_who_says_that_there_is_no_such_user(operation, user):
    user = user.replace("'", "''")
    assert "there is no user with the id, login name or e-mail address" in operation(
        user
    )


@pytest.mark.nightly
def test_T1_who_says_that_a_past_state_is_not_built(operation):
    past = ("--vars", '{as_of: "2026-04-02"}')
    assert (
        "who: there is no stg_users in the schema"
        " 'secure_datasets_as_of_20260402_000000': run dbt there first, or call this"
        " where it was run."
    ) in operation("8", *past, manifest=None)


def test_who_compares_logins_by_the_case_of_ascii_letters_only(operation):
    # The lower case of the Kelvin sign is the letter k.
    assert "there is no user" in operation("hpar\u212a")


STEERING = "a\x1b[2J\x07\x7f\x9b\u202e\u2066\u200b\u3164\u034f\r\n\tz"
ESCAPED = r"a\u001b[2J\u0007\u007f\u009b\u202e\u2066\u200b\u3164\u034f\r\n\tz"


def test_a_printed_table_does_not_steer_the_terminal(dbt, parsed, capfd):
    rows = {"headers": ["name", STEERING], "rows": [[STEERING, "Zo\u00eb \u674e\\"]]}
    options = ["--quiet", "run-operation", "print_table"]
    given = ("--args", json.dumps(rows | {"align": "left"}))
    assert dbt(*options, *given, manifest=parsed).success
    printed = capfd.readouterr().out
    width = len(ESCAPED)
    assert printed.splitlines() == [
        "",
        f"{'name':{width}}  {ESCAPED}",
        "-" * (2 * width + 2),
        f"{ESCAPED}  Zo\u00eb \u674e\\",
        "",
    ]


def test_who_prints_the_names_of_a_user_without_steering_the_terminal(
    spark, dbt, project, tmp_path, capfd
):
    schema = "steering"
    # SQL reads the escapes of JSON.
    text = json.dumps(STEERING)
    columns = [
        "1 as user_id",
        "true as is_live",
        "cast(null as string) as rejection_reason",
        "cast(null as string) as raw_row",
        "false as is_deleted",
        "cast(null as timestamp) as deleted_on",
        "cast(null as timestamp) as date_modified",
        "cast(null as string) as modified_by",
    ]
    columns += [f"{text} as {name}" for name in (*NAMES, "email")]
    models = {"models/stg_users.sql": f"select {', '.join(columns)}"}
    small = small_project(tmp_path / "project", project, schema, models)
    spark.sql(f"create schema {schema}")
    spark.sql(f"create view {schema}.stg_users as {models['models/stg_users.sql']}")
    try:
        # It has no tiers to go on with.
        dbt("--quiet", "run-operation", "who", "--args", "{user: 1}", folder=small)
    finally:
        spark.sql(f"drop schema {schema} cascade")
    printed = capfd.readouterr().out
    assert f"User 1, {ESCAPED} {ESCAPED} ({ESCAPED})" in printed.splitlines()


def test_a_run_shows_its_progress_and_ends_with_a_summary(built, dbt, parsed, capfd):
    assert dbt("run", "-s", "vw_secure_dataset_tables", manifest=parsed).success
    printed = capfd.readouterr().out
    assert re.search(r"relation +rows +users +seconds\n-+\n", printed)
    rows = EXPECTED["relation_rows"]["vw_secure_dataset_tables"]
    assert re.search(rf"vw_secure_dataset_tables +{rows} +31 +\d+\.\d\n", printed)
    assert "2 models at once share one Spark: the seconds of each include" in printed
    assert re.search(
        r"1 of 1 START sql view model \S+vw_secure_dataset_tables", printed
    )
    assert re.search(r"1 of 1 OK created sql view model", printed)


@pytest.mark.nightly
def test_the_summary_can_be_switched_off(built, dbt, parsed, capfd):
    arguments = ["--select", "vw_secure_dataset_tables", "--vars", "{summary: false}"]
    assert dbt("run", *arguments, manifest=parsed).success
    assert "relation" not in capfd.readouterr().out


@pytest.mark.nightly
@pytest.mark.parametrize(("threshold", "status"), [(1000, "warn"), (3, "fail")])
def test_an_orchestrator_tells_findings_over_the_threshold_from_success(
    built, dbt, project, threshold, status
):
    thresholds = {
        "assert_few_rows_are_rejected": "rejected_rows_error_threshold",
        "assert_few_references_dangle": "dangling_references_error_threshold",
    }
    given = json.dumps(dict.fromkeys(thresholds.values(), threshold))
    done = dbt("test", "--select", *thresholds, "--vars", given)
    # What dbt's command line turns into its exit code: 0, or 1 for a failure.
    assert done.success is (status == "warn")
    results = json.loads((project / "target/run_results.json").read_text())["results"]
    told = {result["unique_id"].split(".")[-1]: result for result in results}
    for name in thresholds:
        assert told[name]["status"] == status
        assert status == "warn" or "> 3" in told[name]["message"]


def test_W1_why_says_of_rows_what_the_secure_dataset_shows(ask, rows):
    seen = {
        test
        for (test,) in rows(
            "select test_id from vw_secure_dataset_tests where user_id = 8"
        )
    }
    everything = {test for (test,) in rows("select test_id from vw_dataset_tests")}
    for test in (min(seen), min(everything - seen)):
        code, _ = ask("why", "8", "--dataset", "tests", "--row", f"test_id={test}")
        assert code == (YES if test in seen else NO)


def test_f1_why_names_the_deletion_that_the_log_has_the_key_of(ask):
    code, said = ask("why", "36", "--object", "data source 6")
    assert code == NO
    told = "is deleted on 2026-05-12 02:15:40, by row 35 of user_group_members"
    assert told in " ".join(said.split())


def questions() -> list[str]:
    """Return the commands that `make sample` prints."""
    text = (ROOT / SAMPLE / "questions.txt").read_text()
    return re.findall(r"^    ../../.venv/bin/dbt (.*)$", text, re.M)


@pytest.mark.nightly
@pytest.mark.parametrize("command", questions())
def test_what_make_sample_prints_can_be_asked(built, dbt, parsed, capfd, command):
    capfd.readouterr()
    result = dbt(*shlex.split(command), manifest=parsed)
    assert result.success, result.exception
    printed = capfd.readouterr().out
    assert "docs generate" in command or len(printed.splitlines()) > 4, printed
