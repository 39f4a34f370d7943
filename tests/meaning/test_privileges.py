"""Privileges on stored objects: the matrix, the findings, the check before a run.

One small project is parsed and compiled by dbt; the quick engine answers.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from quick import typed
from rendering import Macros, Stopped
from small_project import SmallProject, small_project

from secure_datasets.engines.duckdb import DuckDB, Rows, as_json

SCHEMA = "small_privileges"
DATABASE, COMPUTE = ("DATABASE", "spark_catalog"), ("COMPUTE", "default")
IN_SCHEMA = ("SCHEMA", SCHEMA)
FIRST, SECOND, THIRD = (
    ("STORED TABLE", f"{SCHEMA}.{name}") for name in ("first", "second", "third")
)
RAW, BETWEEN = ("TABLE", f"{SCHEMA}.raw"), ("VIEW", f"{SCHEMA}.between_them")
USAGE = [("USAGE", *place) for place in (DATABASE, IN_SCHEMA, COMPUTE)]

# raw > first > between_them, a view > passed_on, ephemeral > second > third < raw
MODELS = {
    "models/first.sql": "select id from {{ ref('raw') }}",
    "models/between_them.sql": "{{ config(materialized='view') }}"
    " select id from {{ ref('first') }}",
    "models/passed_on.sql": "{{ config(materialized='ephemeral') }}"
    " select id from {{ ref('between_them') }}",
    "models/second.sql": "select id from {{ ref('passed_on') }}",
    "models/third.sql": "{{ config(meta={'compute': 'large',"
    " 'suspend_reason_code': 'USER_SUSPENDED',"
    " 'last_suspended_on': '2026-01-02 03:04:05'}) }}"
    "\nselect second.id\nfrom {{ ref('second') }} as second"
    " inner join {{ ref('raw') }} as raw on second.id = raw.id",
}
LARGE = ("COMPUTE", "large")
# What is asked of whoever creates first; third, which reads a stored table; and what is
# asked beside that to fill third at once.
TO_CREATE_FIRST = [*USAGE, ("CREATE", *IN_SCHEMA), ("SELECT", *RAW)]
TO_CREATE_THIRD = [
    *(("USAGE", *place) for place in (DATABASE, IN_SCHEMA, LARGE)),
    *(("CREATE", *IN_SCHEMA), ("SELECT", *RAW), ("SELECT", *SECOND)),
]
TO_FILL_THIRD = [("OPERATE", *FIRST), ("OPERATE", *SECOND)]

# Each test's roles with their grants; a role's name says whose it is.
GRANTS: dict[str, list[tuple[str, str, str]]] = {
    "P1_all": TO_CREATE_FIRST,
    **{
        f"P1_lacks_{place}": [
            g for place_, g in enumerate(TO_CREATE_FIRST) if place_ != place
        ]
        for place in range(len(TO_CREATE_FIRST))
    },
    "P2_all": TO_CREATE_THIRD,
    "P2_tables_only": [g for g in TO_CREATE_THIRD if g != ("SELECT", *SECOND)],
    "P2_over_a_view": [*TO_CREATE_FIRST, ("SELECT", *BETWEEN)],
    "P3_all": [*TO_CREATE_THIRD, *TO_FILL_THIRD],
    "P3_nearest_only": [*TO_CREATE_THIRD, ("OPERATE", *SECOND)],
    "P4_session": [g for g in TO_CREATE_FIRST if g[1] != "COMPUTE"],
    "P4_beside": [("USAGE", *COMPUTE)],
    "P5_all": [*USAGE, ("SELECT", *FIRST)],
    **{
        f"P5_lacks_{place}": [g for place_, g in enumerate(USAGE) if place_ != place]
        + [("SELECT", *FIRST)]
        for place in range(3)
    },
    "P5_no_select": USAGE,
    "P6_operate": [("OPERATE", *FIRST)],
    "P6_ownership": [("OWNERSHIP", *FIRST)],
    "P6_monitor": [("MONITOR", *FIRST), ("SELECT", *FIRST)],
    "P8_monitor": [("MONITOR", *THIRD)],
    "P8_operate": [("OPERATE", *THIRD)],
    "P8_ownership": [("OWNERSHIP", *THIRD)],
    "P9_select": [("SELECT", *THIRD)],
    "P10_all": [("ALL", *FIRST)],
    "P10_each": [("SELECT", *FIRST), ("OPERATE", *FIRST), ("MONITOR", *FIRST)],
    "P10_no_operate": [("SELECT", *FIRST), ("MONITOR", *FIRST)],
    "P12_table": [*USAGE, ("SELECT", "TABLE", FIRST[1])],
    "P12_stored_table": [g for g in TO_CREATE_FIRST if g != ("SELECT", *RAW)]
    + [("SELECT", "STORED TABLE", RAW[1])],
    "P13_operate": [("OPERATE", *FIRST)],
    "P13_monitor": [("MONITOR", *FIRST)],
    "P13_refreshes": [("OPERATE", *FIRST)],
    "P14_keeps": [*TO_CREATE_FIRST, ("OWNERSHIP", *FIRST)],
    "P14_lost": [g for g in TO_CREATE_FIRST if g != ("SELECT", *RAW)]
    + [("OWNERSHIP", *FIRST)],
    "P14_session": [
        *(g for g in TO_CREATE_FIRST if g[1] != "COMPUTE"),
        ("OWNERSHIP", *FIRST),
    ],
    "P15_all": [*TO_CREATE_THIRD, *TO_FILL_THIRD],
    "P15_lacks": [g for g in TO_CREATE_THIRD if g != ("SELECT", *SECOND)]
    + [("OPERATE", *SECOND)],
    "P15_too_much": [*TO_CREATE_THIRD, *TO_FILL_THIRD, ("SELECT", *FIRST)],
    "everything": [
        (privilege, object_type, "*")
        for object_type in ("DATABASE", "SCHEMA", "COMPUTE", "TABLE", "VIEW")
        for privilege in ("ALL",)
    ]
    + [("ALL", "STORED TABLE", "*")],
    "far": [("OPERATE", *FIRST)],
}
HIERARCHY = [
    ("P4_session", "P4_beside", "true"),
    ("P4_inherits", "P4_session", "false"),
    ("P14_session", "P4_beside", "true"),
    # A chain, a ring, and a role that is reached through the ring.
    ("chain", "chain_middle", "false"),
    ("chain_middle", "ring", "false"),
    ("ring", "ring_again", "false"),
    ("ring_again", "ring", "false"),
    ("ring_again", "far", "false"),
]  # fmt: skip
PURPOSES = [
    ("P13_operate", "see all metadata", "*"),
    ("P13_monitor", "see all metadata", FIRST[1]),
    ("P13_refreshes", "see all metadata", FIRST[1]),
    ("P13_refreshes", "refresh", FIRST[1]),
    ("P15_all", "create and fill", THIRD[1]),
    ("P15_lacks", "create and fill", THIRD[1]),
    ("P15_too_much", "create and fill", THIRD[1]),
]
EVERY_SCHEDULING = ["suspend", "resume", "refresh", "change compute", "change lag"]
OWNERS_ONLY = ["rename", "drop", "hand over"]
TESTS = [
    "assert_owners_keep_what_refreshes_need",
    "assert_grants_do_what_they_seem_to",
    "assert_grants_are_what_the_matrix_asks",
]


def missing(*privileges: tuple[str, str, str]) -> str:
    """What `missing` says when these are."""
    return ", ".join(
        sorted(f"{what} on {kind} {name}" for what, kind, name in privileges)
    )


def seed(columns: dict[str, str], rows: list[tuple[str, ...]]) -> Rows:
    """Return rows as dbt loads them."""
    kinds = columns.values()
    return Rows(
        columns,
        [tuple(map(typed, row, kinds)) for row in rows],
    )


def texts(*names: str) -> dict[str, str]:
    """Return columns of texts."""
    return dict.fromkeys(names, "string")


@pytest.fixture(scope="module")
def small(project, tmp_path_factory, dbt) -> SmallProject:
    """The small project, parsed."""
    folder = small_project(
        tmp_path_factory.mktemp("privileges") / "project",
        project,
        SCHEMA,
        MODELS,
        copied=(
            "models/privileges",
            *(f"tests/dbt/{test}.sql" for test in TESTS),
        ),
        seeds={"seeds/raw.csv": [{"id": "1"}]},
    )
    return SmallProject(folder, dbt)


@pytest.fixture(scope="module")
def compiled(small) -> dict[str, dict]:
    """The compiled models and standing tests, by name."""
    return small.compiled("path:models/privileges", *TESTS)


@pytest.fixture(scope="module")
def engine(small, compiled) -> DuckDB:
    """The seeds with all roles, and the models over them."""
    file = small.folder / "seeds/privileges/privilege_requirements.csv"
    header, *matrix = (line.split(",") for line in file.read_text().splitlines())
    named = texts("role_name", "privilege", "object_type", "object_name")
    grants = [(role, *grant) for role, held in GRANTS.items() for grant in held]
    links = texts("role_name", "inherits_role_name") | {"is_secondary": "boolean"}
    purposes = texts("role_name", "operation", "object_name")
    seeds = {
        "privilege_requirements": seed(texts(*header), matrix),
        "privilege_grants": seed(named, grants),
        "role_hierarchy": seed(links, HIERARCHY),
        "role_operations": seed(purposes, PURPOSES),
    }
    engine = DuckDB({f"{SCHEMA}.{name}": rows for name, rows in seeds.items()})
    for name in ("permitted_operations", "privilege_findings"):
        engine.store(f"{SCHEMA}.{name}", compiled[name]["compiled_code"])
    return engine


@pytest.fixture(scope="module")
def answer(engine, compiled):
    """Answer a compiled query: `answer("stored_table_metadata")` gives its rows."""
    return lambda name: engine.ask(compiled[name]["compiled_code"])


@pytest.fixture(scope="module")
def permitted(engine) -> dict[tuple[str, str, str], tuple[bool, str | None]]:
    """By role, operation and table: whether it is permitted, and what is missing."""
    rows = engine.ask(f"select * from {SCHEMA}.permitted_operations")
    by_key = {
        (r["role_name"], r["operation"], r["object_name"].split(".")[1]): (
            r["permitted"],
            r["missing"],
        )
        for r in rows
    }
    assert len(by_key) == len(rows)
    return by_key


@pytest.fixture(scope="module")
def findings(engine) -> set[tuple[str, str, str, str]]:
    """All findings."""
    rows = engine.ask(f"select * from {SCHEMA}.privilege_findings")
    return {tuple(row.values()) for row in rows}


def of_role(findings: set[tuple], role: str) -> set[tuple]:
    """What was found of a role: finding, object, detail."""
    return {
        (found, name, detail) for found, who, name, detail in findings if who == role
    }


YES = (True, None)


def test_P1_creating_needs_create_select_on_what_is_read_and_usage(permitted):
    assert permitted["P1_all", "create", "first"] == YES


@pytest.mark.parametrize("place", range(len(TO_CREATE_FIRST)))
def test_P1_each_of_them_is_needed(permitted, place):
    told = permitted[f"P1_lacks_{place}", "create", "first"]
    assert told == (False, missing(TO_CREATE_FIRST[place]))


def test_P2_over_a_stored_table_select_on_that_table_too(permitted):
    assert permitted["P2_all", "create", "third"] == YES
    told = permitted["P2_tables_only", "create", "third"]
    assert told == (False, missing(("SELECT", *SECOND)))


def test_P2_over_a_view_select_on_the_view_and_not_on_what_is_behind(permitted):
    assert permitted["P2_over_a_view", "create", "second"] == YES


def test_P3_filling_at_once_needs_operate_on_all_stored_tables_upstream(permitted):
    assert permitted["P3_all", "create and fill", "third"] == YES
    told = permitted["P2_all", "create and fill", "third"]
    assert told == (False, missing(*TO_FILL_THIRD))
    told = permitted["P3_nearest_only", "create and fill", "third"]
    assert told == (False, missing(("OPERATE", *FIRST)))
    # What creating needs is needed as well.
    told = permitted["P2_tables_only", "create and fill", "third"]
    assert told == (False, missing(("SELECT", *SECOND), *TO_FILL_THIRD))


def test_P4_with_compute_through_a_secondary_role_it_is_created_never_filled(
    permitted, findings
):
    by_secondary = (
        missing(("USAGE", *COMPUTE)) + " (held through a secondary role only)"
    )
    assert permitted["P4_session", "create", "first"] == YES
    told = permitted["P4_session", "create and fill on schedule", "first"]
    assert told == (False, by_secondary)
    assert of_role(findings, "P4_session") == {
        ("created, never filled", FIRST[1], by_secondary)
    }
    assert permitted["P1_all", "create and fill on schedule", "first"] == YES
    assert of_role(findings, "P1_all") == set()


def test_P4_the_secondary_role_of_an_inherited_role_does_not_come_along(permitted):
    told = permitted["P4_inherits", "create", "first"]
    assert told == (False, missing(("USAGE", *COMPUTE)))


def test_P5_querying_needs_usage_and_select(permitted):
    assert permitted["P5_all", "query", "first"] == YES
    told = permitted["P5_no_select", "query", "first"]
    assert told == (False, missing(("SELECT", *FIRST)))
    for place in range(3):
        told = permitted[f"P5_lacks_{place}", "query", "first"]
        assert told == (False, missing(USAGE[place]))


@pytest.mark.parametrize("operation", EVERY_SCHEDULING)
def test_P6_scheduling_needs_operate_or_ownership(permitted, operation):
    assert permitted["P6_operate", operation, "first"] == YES
    assert permitted["P6_ownership", operation, "first"] == YES
    told = permitted["P6_monitor", operation, "first"]
    assert told == (False, missing(("OPERATE", *FIRST)))
    assert permitted["P6_operate", operation, "second"][0] is False


@pytest.mark.parametrize("operation", OWNERS_ONLY)
def test_P7_renaming_dropping_and_handing_over_need_ownership(permitted, operation):
    assert permitted["P6_ownership", operation, "first"] == YES
    told = permitted["P10_all", operation, "first"]
    assert told == (False, missing(("OWNERSHIP", *FIRST)))


METADATA = [
    "reads",
    "text",
    "warehouse",
    "scheduling_state",
    "last_suspended_on",
    "suspend_reason_code",
]


@pytest.fixture(scope="module")
def metadata(answer) -> dict[tuple[str, str], dict]:
    """The metadata that each role sees of each stored table, timestamps as text."""
    return {
        (row["role_name"], row["object_name"].split(".")[1]): row
        for row in as_json(answer("stored_table_metadata"))
    }


@pytest.mark.parametrize("role", ["P8_monitor", "P8_operate", "P8_ownership"])
def test_P8_monitor_operate_or_ownership_sees_all_metadata(permitted, metadata, role):
    assert permitted[role, "see all metadata", "third"] == YES
    seen = metadata[role, "third"]
    assert {name: seen[name] for name in METADATA} == {
        "reads": f"{SCHEMA}.raw, {SCHEMA}.second",
        "text": MODELS["models/third.sql"],
        "warehouse": "large",
        "scheduling_state": "SUSPENDED",
        "last_suspended_on": "2026-01-02 03:04:05",
        "suspend_reason_code": "USER_SUSPENDED",
    }


def test_P9_with_select_only_text_compute_and_state_are_null(permitted, metadata):
    assert permitted["P9_select", "see metadata", "third"] == YES
    told = permitted["P9_select", "see all metadata", "third"]
    assert told == (False, missing(("MONITOR", *THIRD)))
    seen = metadata["P9_select", "third"]
    assert seen["object_name"] == THIRD[1]
    assert {name: seen[name] for name in METADATA} == dict.fromkeys(METADATA)


def test_P9_without_either_a_table_is_not_seen_at_all(metadata):
    assert {name for role, name in metadata if role == "P9_select"} == {"third"}
    assert not [role for role, _ in metadata if role == "P5_no_select"]


@pytest.mark.parametrize("role", ["P10_all", "P10_each", "P6_ownership"])
def test_P10_full_access_is_all_but_ownership_or_ownership(permitted, role):
    assert permitted[role, "full access", "first"] == YES


def test_P10_less_is_not_full_access(permitted):
    told = permitted["P10_no_operate", "full access", "first"]
    operate, ownership = missing(("OPERATE", *FIRST)), missing(("OWNERSHIP", *FIRST))
    assert told == (False, f"{operate} or {ownership}")
    assert permitted["P6_operate", "full access", "first"][0] is False


def test_P11_ownership_includes_operate_which_includes_monitor(permitted):
    for role in ("P6_ownership", "P6_operate"):
        assert permitted[role, "refresh", "first"] == YES
        assert permitted[role, "see all metadata", "first"] == YES
    assert permitted["P13_monitor", "refresh", "first"][0] is False


@pytest.mark.parametrize("role", ["P6_ownership", "P6_operate"])
def test_P11_neither_gives_select(permitted, role):
    told = permitted[role, "query", "first"]
    assert told == (False, missing(*USAGE, ("SELECT", *FIRST)))
    assert permitted[role, "see metadata", "first"][0] is False


def test_P12_a_grant_on_a_table_does_not_count_for_a_stored_table(permitted, findings):
    told = permitted["P12_table", "query", "first"]
    assert told == (False, missing(("SELECT", *FIRST)))
    assert of_role(findings, "P12_table") == {
        ("grant on the wrong type", FIRST[1],
         "SELECT on TABLE, which is a STORED TABLE"),
    }  # fmt: skip


def test_P12_nor_the_reverse(permitted, findings):
    told = permitted["P12_stored_table", "create", "first"]
    assert told == (False, missing(("SELECT", *RAW)))
    assert of_role(findings, "P12_stored_table") == {
        ("grant on the wrong type", RAW[1], "SELECT on STORED TABLE, which is a TABLE"),
    }


def test_P13_a_role_that_reads_metadata_only_and_holds_operate_is_reported(findings):
    assert of_role(findings, "P13_operate") == {
        ("OPERATE where MONITOR is enough", FIRST[1], "reads metadata only")
    }
    assert of_role(findings, "P13_monitor") == set()
    assert of_role(findings, "P13_refreshes") == set()


def test_P14_an_owner_without_what_creating_needs_is_found(findings):
    found = {
        role: of_role(findings, role)
        for role in ("P14_keeps", "P14_lost", "P14_session")
    }
    by_secondary = (
        missing(("USAGE", *COMPUTE)) + " (held through a secondary role only)"
    )
    what = "owner lacks what refreshes need"
    assert found == {
        "P14_keeps": set(),
        "P14_lost": {(what, FIRST[1], missing(("SELECT", *RAW)))},
        "P14_session": {
            (what, FIRST[1], by_secondary),
            ("created, never filled", FIRST[1], by_secondary),
        },
    }


def test_P14_the_standing_test_fails_and_that_of_the_other_findings_warns(
    answer, compiled
):
    owners = {row["role_name"] for row in answer(TESTS[0])}
    assert owners == {"P14_lost", "P14_session", "P6_ownership", "P8_ownership"}
    assert {row["finding"] for row in answer(TESTS[1])} == {
        "created, never filled",
        "grant on the wrong type",
        "OPERATE where MONITOR is enough",
    }
    severity = [compiled[name]["config"]["severity"] for name in TESTS]
    assert [text.lower() for text in severity] == ["error", "warn", "error"]


def test_a_role_has_what_it_inherits_at_any_distance_and_round_a_ring(permitted):
    assert permitted["chain", "refresh", "first"] == YES
    assert permitted["far", "refresh", "first"] == YES
    assert permitted["everything", "create and fill", "third"] == YES
    assert permitted["everything", "drop", "third"][0] is False


@pytest.fixture
def macros(engine, small) -> Macros:
    """The macros over the graph of the small project, and the quick engine."""
    small.manifest.build_flat_graph()
    macros = Macros("", ref=lambda name: f"{SCHEMA}.{name}")

    def run_query(query: str) -> SimpleNamespace:
        rows = [[*row.values()] for row in engine.ask(query)]
        return SimpleNamespace(rows=rows)

    macros.stand_in(
        var={"compute": "default"}.get,
        graph=small.manifest.flat_graph,
        execute=True,
        load_relation=lambda relation: relation,
        run_query=run_query,
    )
    return macros


@pytest.fixture
def lacks(macros):
    """Check before a command with a pipeline's role; return what it lacks."""

    def call(role: str, command: str, *selected: str) -> list[tuple[str, str]]:
        variables = {"pipeline_role": role, "compute": "default"}
        macros.stand_in(
            var=lambda name, default=None: variables.get(name, default),
            flags={"WHICH": command},
            selected_resources=selected,
        )
        try:
            macros.check_privileges()
        except Stopped as stopped:
            said = str(stopped)
            assert said.startswith(
                f"check_privileges: the role '{role}' lacks for this run:"
            )
            return re.findall(r"^ *- (.*), to (.*)$", said, re.M)
        return []

    return call


def models(*names: str) -> list[str]:
    """Return the unique ids of models."""
    return [f"model.secure_datasets.{name}" for name in names]


def test_P15_a_run_says_in_one_list_what_its_role_lacks(lacks):
    assert lacks("P15_lacks", "run", *models("first", "second", "third")) == [
        (
            f"OPERATE on STORED TABLE {FIRST[1]}",
            f"create and fill {SECOND[1]} and 1 more",
        ),
        (f"SELECT on STORED TABLE {SECOND[1]}", f"create and fill {THIRD[1]}"),
        (f"SELECT on VIEW {BETWEEN[1]}", f"create and fill {SECOND[1]}"),
        ("USAGE on COMPUTE default", f"create and fill {FIRST[1]} and 1 more"),
    ]


def test_P15_a_test_queries_what_it_reads_and_an_unknown_role_has_nothing(lacks):
    findings = f"{SCHEMA}.privilege_findings"
    needed = [("SELECT", "STORED TABLE", findings), *USAGE]
    assert lacks("nobody", "test", f"test.secure_datasets.{TESTS[0]}") == sorted(
        (missing(one), f"query {findings}") for one in needed
    )


@pytest.mark.parametrize(
    ("role", "command"), [("P1_all", "run"), ("nobody", "seed"), ("", "run")]
)
def test_P15_a_role_that_lacks_nothing_runs(lacks, role, command):
    assert lacks(role, command, *models("first")) == []


def test_P15_the_rendered_grants_are_what_the_matrix_asks(macros):
    macros.render_grants("P15_lacks")
    assert macros.printed == [
        f"grant {what} to role P15_lacks;"
        for what in (
            "usage on warehouse large",
            "usage on database spark_catalog",
            f"create dynamic table on schema {SCHEMA}",
            f"usage on schema {SCHEMA}",
            f"operate on dynamic table {FIRST[1]}",
            f"operate on dynamic table {SECOND[1]}",
            f"select on dynamic table {SECOND[1]}",
            f"select on table {RAW[1]}",
        )
    ]


def test_P15_the_standing_grants_are_held_against_the_matrix(answer):
    found = {tuple(row.values()) for row in answer(TESTS[2])}
    lacks = missing(("SELECT", *SECOND), ("OPERATE", *FIRST))
    all_lack = ("P13_operate", "see all metadata")
    assert {row for row in found if row[:2] != all_lack} == {
        ("P15_lacks", "create and fill", lacks),
        (
            "P15_too_much",
            missing(("SELECT", *FIRST)),
            "no operation of the role asks for it",
        ),
    }
    # It is for the metadata of every stored table, and may see that of one.
    lacking = {problem for about, _, problem in found if about == "P13_operate"}
    assert missing(("MONITOR", *THIRD)) in lacking
    assert missing(("MONITOR", *FIRST)) not in lacking
