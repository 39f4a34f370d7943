"""The laws about the tiers notice what breaks them, and name the rows."""

from __future__ import annotations

import pytest
from quick import QuickSample
from sample import MAY_WARN, REFUSED

SOUND = "assert_secure_rows_have_a_grant"
COMPLETE = "assert_granted_rows_are_in_secure_datasets"
NO_FAN_OUT = "assert_secure_rows_do_not_fan_out"
UNIQUE_KEYS = "assert_unique_keys_are_unique"
FAIL_CLOSED = "assert_unknown_is_seen_by_nobody"
TWO_SIDED = "assert_second_side_is_checked_for_the_same_user"
EVERYONE_ONCE = "assert_rows_for_everyone_come_once"
INDEPENDENT = "assert_tiers_are_independent"
AUDIT_AGREES = "assert_audit_agrees_with_access"
ROLE_NAMES = "assert_role_names_are_the_roles"
ANSWERS_SOUND = "assert_answers_count_nothing_hidden"
ANSWERS_COMPLETE = "assert_answers_are_complete"
ANSWERS_CLOSED = "assert_users_without_keys_get_no_answer"
RULES_SOUND = "assert_visible_rows_meet_every_rule"
RULES_COMPLETE = "assert_rows_that_meet_every_rule_are_visible"
MASKS = "assert_masks_are_put_on_and_change_nothing_else"
TOXIC_PAIRS = "assert_toxic_pairs_name_what_is_there"
EXPECTED = "assert_access_is_as_expected"
LIVE_USERS = "assert_tiers_name_live_users"
# There is no such user, so this one has no right.
STRANGER = 4711


@pytest.fixture(scope="module")
def sample() -> QuickSample:
    """The sample, built once."""
    return QuickSample()


@pytest.fixture
def view_of(sample):
    """Put another query behind a relation, until the test ends."""
    yield sample.replace
    sample.restore()


@pytest.fixture
def broken_laws(sample):
    """Run these laws; return what those that fail say of each row, by their names."""
    return sample.failing


@pytest.fixture
def rows(sample):
    """Query the built sample."""
    return sample.rows


def test_every_test_passes_of_the_sample(sample):
    tests = {*sample.tests}
    assert len([name for name in tests if name.startswith("assert_")]) > 25
    assert len([name for name in tests if name.startswith("not_null_")]) > 150
    assert tests > REFUSED | MAY_WARN
    assert sample.failing(*tests - MAY_WARN - REFUSED) == {}


def test_a_row_shown_to_somebody_without_a_right_is_named(view_of, broken_laws):
    view_of(
        "vw_secure_dataset_tables",
        f"select * from {{rows}} union all select base.*, {STRANGER}, 'User'"
        " from secure_datasets.vw_dataset_tables as base where table_id = 1",
    )
    broken = broken_laws(SOUND)
    assert broken == {
        SOUND: [{"dataset": "tables", "row_key": "1", "user_id": STRANGER}]
    }


def test_a_row_hidden_from_somebody_with_a_right_is_named(view_of, broken_laws, rows):
    ((event, user),) = rows(
        "select event_id, user_id from secure_datasets.vw_secure_dataset_event_history"
        " where context = 'Project' order by 1, 2 limit 1"
    )
    view_of(
        "vw_secure_dataset_event_history",
        f"select * from {{rows}} where not (event_id = {event} and user_id <=> {user})",
    )
    assert broken_laws(COMPLETE) == {
        COMPLETE: [{"dataset": "event_history", "row_key": str(event), "user_id": user}]
    }


def test_a_row_that_is_there_twice_in_place_of_another_is_named(
    view_of, broken_laws, rows
):
    (twice, lost) = (
        job
        for (job,) in rows(
            "select job_id from secure_datasets.vw_secure_dataset_jobs"
            " where user_id = 8 and project_id = 1 order by job_id limit 2"
        )
    )
    view_of(
        "vw_secure_dataset_jobs",
        f"select * from {{rows}} where not (job_id = {lost} and user_id = 8)"
        f" union all select * from {{rows}} where job_id = {twice} and user_id = 8",
    )
    assert broken_laws(NO_FAN_OUT, COMPLETE) == {
        NO_FAN_OUT: [
            {"dataset": "jobs", "row_key": str(twice), "user_id": 8, "times": 2}
        ],
        COMPLETE: [{"dataset": "jobs", "row_key": str(lost), "user_id": 8}],
    }


def test_a_row_of_a_base_with_the_key_of_another_row_is_named(
    view_of, broken_laws, rows
):
    """Each user sees as many rows as before, so no other law fails."""
    ((key,),) = rows("select min(job_id) from secure_datasets.vw_dataset_jobs")
    view_of(
        "vw_dataset_jobs",
        f"select * from {{rows}} union all select * from {{rows}} where job_id = {key}",
    )
    assert broken_laws(UNIQUE_KEYS, NO_FAN_OUT) == {
        UNIQUE_KEYS: [{"dataset": "jobs", "row_key": str(key), "times": 2}],
    }


def test_a_user_of_a_tier_who_is_not_live_is_named(view_of, broken_laws):
    view_of(
        "vw_secure_user_project_access",
        "select user_id, project_id, access_type from {rows} union all"
        f" select {STRANGER}, project_id, access_type from {{rows}}",
    )
    assert broken_laws(LIVE_USERS) == {
        LIVE_USERS: [{"tier": "project", "user_id": STRANGER}]
    }


def test_a_control_side_without_a_right_is_named(view_of, broken_laws, rows):
    ((execution, user),) = rows(
        "select base.test_execution_id, access.user_id"
        " from secure_datasets.vw_dataset_test_executions as base"
        " inner join secure_datasets.vw_secure_user_results_access as access"
        " on base.project_id = access.project_id"
        " and base.test_data_source_id = access.meta_data_source_id"
        " where base.control_data_source_id is not null and not exists ("
        " select 1 from secure_datasets.vw_secure_dataset_test_executions as seen"
        " where seen.test_execution_id = base.test_execution_id"
        " and seen.user_id = access.user_id) order by 1, 2 limit 1"
    )
    view_of(
        "vw_secure_dataset_test_executions",
        f"select * from {{rows}} union all select base.*, {user}"
        " from secure_datasets.vw_dataset_test_executions as base"
        f" where test_execution_id = {execution}",
    )
    named = [{"dataset": "test_executions", "row_key": str(execution), "user_id": user}]
    assert broken_laws(TWO_SIDED, SOUND) == {
        TWO_SIDED: named,
        SOUND: named,
    }


def test_what_nobody_may_see_is_named(view_of, broken_laws):
    view_of(
        "vw_secure_dataset_event_history",
        "select * from {rows} union all"
        " select 4711, 'Tenant', null, null, null, 1, 1, null, null, 8, 'User'",
    )
    assert broken_laws(FAIL_CLOSED) == {
        FAIL_CLOSED: [{"dataset": "event_history", "row_key": "4711", "user_id": 8}]
    }


def test_a_row_for_everyone_that_bears_a_user_is_named(view_of, broken_laws, rows):
    ((event,),) = rows(
        "select min(event_id) from secure_datasets.vw_dataset_event_history"
        " where context = 'Global'"
    )
    view_of(
        "vw_secure_dataset_event_history",
        "select * except (user_id, access_type),"
        f" if(event_id = {event}, 8, user_id) as user_id, access_type from {{rows}}",
    )
    broken = broken_laws(EVERYONE_ONCE)
    (named,) = broken[EVERYONE_ONCE]
    assert (named["row_key"], named["times_with_user"]) == (str(event), 1)


def test_a_member_by_a_right_on_a_data_source_is_named(view_of, broken_laws):
    view_of(
        "vw_secure_user_project_access",
        f"select * from {{rows}} union all select 1, {STRANGER}, 'User'",
    )
    broken = broken_laws(INDEPENDENT, AUDIT_AGREES)
    assert {
        "object_id": 1,
        "user_id": STRANGER,
        "problem": "member without an entry of the project",
    } in broken[INDEPENDENT]
    assert {
        "object_type": "Project",
        "object_id": 1,
        "user_id": STRANGER,
        "problem": "only in the access view",
    } in broken[AUDIT_AGREES]


def test_a_role_too_many_and_one_too_few_are_named(view_of, broken_laws, rows):
    ((user, role),) = rows(
        "select user_id, min(role_name) as role_name"
        " from secure_datasets.vw_secure_user_roles where role_name is not null"
        " group by user_id order by user_id limit 1"
    )
    view_of(
        "user_role_names",
        "select user_id, transform(role_names, name -> if(user_id ="
        f" {user} and name = '{role}', 'Nobody', name)) as role_names, user_group_ids"
        " from {rows}",
    )

    def named(role: str) -> dict:
        return {"user_id": user, "role_name": role, "user_group_id": None}

    assert broken_laws(ROLE_NAMES) == {
        ROLE_NAMES: [
            named(role) | {"problem": "not among the names"},
            named("Nobody") | {"problem": "not held"},
        ]
    }


def test_an_answer_that_counts_a_hidden_row_is_named(view_of, broken_laws):
    view_of(
        "vw_secure_dataset_executions_by_unit",
        "select business_unit, executions + if(user_id = 8 and business_unit ="
        " 'Payments', 1, 0) as executions, failed_executions, user_id from {rows}",
    )
    named = [
        {"dataset": "executions_by_unit", "row_key": "Payments", "user_id": 8},
    ]
    assert broken_laws(ANSWERS_SOUND, ANSWERS_COMPLETE, ANSWERS_CLOSED) == {
        ANSWERS_SOUND: named,
        ANSWERS_COMPLETE: named,
    }


def test_an_answer_to_somebody_without_a_key_is_named(view_of, broken_laws):
    view_of(
        "vw_secure_dataset_executions_in_total",
        f"select * from {{rows}} union all select 0, 0, {STRANGER}",
    )
    named = [{"dataset": "executions_in_total", "row_key": "", "user_id": STRANGER}]
    assert broken_laws(ANSWERS_SOUND, ANSWERS_COMPLETE, ANSWERS_CLOSED) == {
        ANSWERS_SOUND: named,
        ANSWERS_CLOSED: named,
    }


def test_an_answer_that_is_missing_is_named(view_of, broken_laws):
    view_of("vw_secure_dataset_executions_in_total", "select * from {rows} limit 0")
    broken = broken_laws(ANSWERS_SOUND, ANSWERS_COMPLETE, ANSWERS_CLOSED)
    assert list(broken) == [ANSWERS_COMPLETE]
    assert 8 in {row["user_id"] for row in broken[ANSWERS_COMPLETE]}


def test_what_view_authorization_forbids_or_allows_is_named(view_of, broken_laws):
    # User 20 is denied the view, 33 allowed it; 8 sees project 7 alone, and masked.
    view_of(
        "vw_secure_dataset_authorized_projects",
        "select project_id,"
        " if(user_id = 33, 'project 7', project_name) as project_name,"
        " user_id, access_type from {rows} where not (user_id = 33 and project_id = 1)"
        " union all select 7, 'Warehouse Regression', 20, 'Group'"
        " union all select 1, 'project 1', 8, 'Group'",
    )

    def named(project: int, user: int) -> dict:
        key = str(project)
        return {"dataset": "authorized_projects", "row_key": key, "user_id": user}

    broken = broken_laws(RULES_SOUND, RULES_COMPLETE, MASKS)
    assert {law: sorted(rows, key=str) for law, rows in broken.items()} == {
        RULES_SOUND: [named(1, 8), named(7, 20)],
        RULES_COMPLETE: [named(1, 33)],
        # Who does not hold Global Admin gets the mask on every row that is shown.
        MASKS: [named(3, 33), named(7, 20), named(7, 33)],
    }


def test_V1_a_toxic_pair_of_what_nobody_can_hold_is_named(view_of, broken_laws):
    view_of(
        "toxic_pairs",
        "select * from {rows} union all"
        " select 'Project', ' Create Tests', 'Manage permissions', null union all"
        " select 'Data Source', 'View Test Results', 'Project Member', null",
    )
    found = broken_laws(TOXIC_PAIRS)[TOXIC_PAIRS]
    assert {tuple(row.values()) for row in found} == {
        ("Project", "Manage permissions"),
        ("Data Source", "Project Member"),
    }


def expectation(line: str) -> str:
    """Return a query of one expectation, as a line of the seed."""
    names = "subject_type, subject, dataset, tier, object, expects, reason, expires_on"
    values = [f"'{value}'" if value else "null" for value in line.split("|")]
    values[-1] = f"cast({values[-1]} as date)"
    parts = zip(values, names.split(", "), strict=True)
    return f"select {', '.join(f'{value} as {name}' for value, name in parts)}"


SEES, SEES_NOT = "does not see it", "sees it"
STRANGE = "sees it, and is in no expectation"


@pytest.mark.parametrize(
    ("line", "users", "found"),
    [
        ("user|hpark|tests||test_id=12|sees|r|", [8], SEES),
        ("user|8|tests||test_id=12|does not see|r|", [], None),
        ("group|Payments Operations||project|project_id=2|sees|r|", [], None),
        ("group|6|tests||test_id=12|does not see|r|", [6, 13, 24], SEES_NOT),
        ("user|hpark|executions_by_unit||business_unit=Payments|sees|r|", [], None),
        ("user|8|event_history||event_id=1|does not see|r|", [8], SEES_NOT),
        (
            "user|6||results|project_id=2, meta_data_source_id=2|does not see|r|",
            [6], SEES_NOT,
        ),
        (
            "user|6|star_test_executions||test_execution_id=111|masked:error_count|r|",
            [6], "sees the value",
        ),
        (
            "user|7|star_test_executions||test_execution_id=135|masked:error_count|r|",
            [], None,
        ),
        (
            "user|33|authorized_projects||project_id=7|masked:project_name|r|",
            [33], "sees the value",
        ),
        (
            # The last day is one on which it holds.
            "user|8|authorized_projects||project_id=7|masked:project_name|r|2026-07-01",
            [], None,
        ),
        ("only|||project|project_id=2|sees|r|", [2, 6, 13, 14, 24, 29], STRANGE),
    ],
)  # fmt: skip
def test_E2_what_is_not_as_expected_is_named_by_user(
    view_of, broken_laws, line, users, found
):
    view_of("expected_access", expectation(line))
    rows = broken_laws(EXPECTED).get(EXPECTED, [])
    assert sorted(row["user_id"] for row in rows) == users
    assert {row["found"] for row in rows} == ({found} if found else set())


def test_E2_only_those_who_are_expected_to_see_an_object_may(view_of, broken_laws):
    lines = [
        "only|||project|project_id=2|sees|r|",
        "group|Operations||project|project_id=2|sees|r|",
        "user|14||project|project_id=2|does not see|r|",
    ]
    view_of("expected_access", " union all ".join(map(expectation, lines)))
    rows = broken_laws(EXPECTED)[EXPECTED]
    strangers = {row["user_id"] for row in rows if row["found"] == STRANGE}
    assert strangers == {row["user_id"] for row in rows} == {2, 14}


def test_E2_nobody_is_expected_by_a_login_that_is_the_id_of_another(
    view_of, broken_laws
):
    lines = [
        "only|||project|project_id=2|sees|r|",
        "user|14||project|project_id=2|sees|r|",
    ]
    view_of("expected_access", " union all ".join(map(expectation, lines)))
    view_of(
        "stg_users",
        "select user_id, if(user_id = 2, '14', login_name) as login_name, is_live"
        " from {rows}",
    )
    rows = broken_laws(EXPECTED)[EXPECTED]
    assert {row["user_id"] for row in rows} == {2, 6, 13, 24, 29}
    # Who is not live has the login of nobody else.
    lines[1] = "user|praman||project|project_id=2|does not see|r|"
    view_of("expected_access", " union all ".join(map(expectation, lines[1:])))
    view_of(
        "stg_users",
        "select user_id, if(user_id = 2, 'praman', login_name) as login_name,"
        " is_live and user_id != 2 as is_live from {rows}",
    )
    assert EXPECTED not in broken_laws(EXPECTED)


@pytest.mark.parametrize(
    ("line", "relation", "columns"),
    [
        (
            "group|Operations||project|project_id=2|sees|r|",
            "vw_secure_user_roles",
            "user_id, user_group_id,"
            " if(user_group_id = 1, 'Operations', role_name) as role_name",
        ),
        (
            "user|praman||project|project_id=2|does not see|r|",
            "stg_users",
            "user_id, if(user_id = 13, 'PRAMAN', login_name) as login_name, is_live",
        ),
    ],
)
def test_E3_R21_a_subject_whose_name_several_have_fails(
    view_of, broken_laws, line, relation, columns
):
    view_of("expected_access", expectation(line))
    assert EXPECTED not in broken_laws(EXPECTED)
    view_of(relation, f"select {columns} from {{rows}}")
    found = {row["found"] for row in broken_laws(EXPECTED)[EXPECTED]}
    assert "several have this name: name the one that is meant by its id" in found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("user|nobody|tests||test_id=12|does not see|r|", "there is no such subject"),
        ("group|Nobodies|tests||test_id=12|does not see|r|", "there is no such subj"),
        ("role|Data Office|tests||test_id=12|does not see|r|", "there is no such subj"),
        ("user|8|test||test_id=12|does not see|r|", "there is no such dataset or tier"),
        ("user|8||projects|project_id=2|does not see|r|", "there is no such dataset"),
        ("user|8|tests||test_id=4711|does not see|r|", "there is no such object"),
        ("user|8||project|project_id=4711|does not see|r|", "there is no such object"),
        ("user|8||project|project_id=2, x=1|does not see|r|", "there is no such obj"),
        (
            "user|8||results|project_id=2, meta_data_source_id=4711|does not see|r|",
            "there is no such object",
        ),
        (
            "user|8|executions_by_unit||business_unit=Cards|does not see|r|",
            "there is no such object",
        ),
        ("user|8|tests|project|test_id=12|does not see|r|", "name a dataset or a tier"),
        ("user|8|||test_id=12|does not see|r|", "name a dataset or a tier"),
        ("user|8|tests||test_id=12|sees not|r|", "expects must be"),
        ("user|8||project|project_id=3|masked:name|r|", "expects must be"),
        ("only|||project|project_id=2|does not see|r|", "expects must be"),
        ("people|8|tests||test_id=12|does not see|r|", "subject_type must be"),
        ("only|8|tests||test_id=12|sees|r|", "subject_type must be"),
        ("user|8|tests||test_id=12|does not see||", "say why"),
        ("user|8|tests||test_id=12|does not see|r|2026-06-30", "its day is over"),
        ("user|8|tests||test_id=12|masked:test_name|r|", "there is no such column"),
    ],
)
def test_E3_an_expectation_of_what_is_not_there_fails(
    view_of, broken_laws, line, found
):
    view_of("expected_access", expectation(line))
    rows = broken_laws(EXPECTED)[EXPECTED]
    assert [row for row in rows if row["found"].startswith(found)]


@pytest.mark.parametrize("decision", ["Deny", "Transform to Deny"])
def test_I_a_a_revocation_closes_the_dataset_of_the_view_and_no_other(
    sample, view_of, rows, decision
):
    authorized = "vw_secure_dataset_authorized_projects"
    others = [
        model.name
        for model in sample.project.models
        if model.name.startswith("vw_secure_") and model.name != authorized
    ]
    assert len(others) > 12

    def decide(user: int, name: str, decision: str) -> None:
        view_of(
            "view_decisions",
            f"select user_id, object_name, if(user_id = {user} and object_name ="
            f" '{name}', '{decision}', decision) as decision from {{rows}}",
        )

    def seen() -> list[tuple]:
        return sorted(rows(f"select * from secure_datasets.{authorized}"))

    def unrelated() -> list[list[tuple]]:
        return [rows(f"select * from secure_datasets.{name}") for name in others]

    before, of_others = seen(), unrelated()
    assert {row[2] for row in before} == {8, 12, 33}
    decide(12, "dim_projects", decision)
    assert seen() == []
    findings = "secure_datasets.unrestricted_view_access where view_name like 'vw%'"
    assert rows(f"select * from {findings}") == []
    assert unrelated() == of_others
    # A decision about a user closes the view to that user alone.
    decide(33, authorized, decision)
    assert seen() == [row for row in before if row[2] != 33]
