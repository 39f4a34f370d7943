"""The sample organisation, built by dbt with its tests."""

import csv
import re
from collections import Counter
from collections.abc import Iterable

import pytest
import yaml
from comparison import END, comparable
from compiled import kept_tests
from jinja2 import Environment
from oracle.contract import COLUMNS, Evaluation, evaluate, read_world
from own_config import PRODUCTS, document_of, together
from pipeline import comparable_rows, differences
from projects import ROOT, SAMPLE
from rendering import Macros
from sample import EXPECTED, MAY_WARN, REFUSED

from secure_datasets.cli import YES, main
from secure_datasets.config.feeds import KINDS, read_feeds

pytestmark = pytest.mark.spark

DATASETS = list(EXPECTED["secure_dataset_rows"][8])
QUESTIONS = EXPECTED["questions"]
# dbt's own, by package and name: their text is dbt's but for names and values.
OF_A_COLUMN = [
    (None, name) for name in ("accepted_values", "not_null", "relationships", "unique")
]
# The product's, and the sample's own.
ANALYSES = {
    file.stem: file.read_text()
    for project in (ROOT, ROOT / SAMPLE)
    for file in (project / "analyses").glob("*.sql")
}
CASES = [
    pytest.param(name, case, id=f"{name}{list(case['given'].values())}")
    for name, question in QUESTIONS.items()
    for case in question["cases"]
]


@pytest.fixture(scope="module")
def expected() -> Evaluation:
    """What the oracle says of the sample."""
    return evaluate(read_world(ROOT / "seeds/repository"))


@pytest.fixture(scope="module")
def seen(rows, spark) -> dict[str, dict[str, Counter]]:
    """The rows that each user reads of each secure dataset, by dataset and user."""
    readers = [
        str(user) for (user,) in rows("select user_id from secure_datasets.stg_users")
    ]
    datasets = {}
    for name in DATASETS:
        by_reader = datasets[name] = {reader: Counter() for reader in readers}
        found = comparable_rows(
            spark.sql(
                "select readers.user_id as reader, secure.*"
                " from secure_datasets.stg_users as readers"
                f" inner join secure_datasets.vw_secure_dataset_{name} as secure"
                " on secure.user_id = readers.user_id or secure.user_id is null"
            )
        )
        for row, times in found.items():
            reader, seen_row = row.split(END, 1)
            by_reader[reader][seen_row] = times
    return datasets


def count(rows, schema: str, relations: Iterable[str]) -> dict[str, int]:
    """The number of rows of each relation, in one query."""
    queries = [
        f"select '{relation}', count(*) from {schema}.{relation}"
        for relation in relations
    ]
    return dict(rows(" union all ".join(queries)))


def test_every_node_is_built(built):
    assert built.success, built.exception
    status = {str(result.status) for result in built.result}
    assert status <= {"success", "no-op"}


@pytest.mark.nightly
def test_spark_reads_every_data_test(rows, spark, parsed):
    """Of a generic test that reads one column, one use stands for all."""
    written = {}
    for node in parsed.nodes.values():
        if node.resource_type == "test":
            generic = getattr(node, "test_metadata", None)
            kind = (generic.namespace, generic.name) if generic else node.name
            written[node.name] = kind if kind in OF_A_COLUMN else node.name
    queries = kept_tests()
    one_of_each = {written[name]: name for name in queries}
    assert {*OF_A_COLUMN} <= one_of_each.keys()
    # tests/meaning/test_laws.py runs them over the same rows in the quick engine.
    for name in one_of_each.values():
        assert spark.sql(queries[name]).columns, name


def test_what_the_quick_engine_refuses_passes_in_spark(rows, dbt, parsed):
    assert dbt("test", "--select", *REFUSED, manifest=parsed).success


@pytest.mark.nightly
def test_every_test_passes_or_may_warn_in_spark(rows, dbt, parsed):
    tested = dbt("test", manifest=parsed)
    status = {result.node.name: str(result.status) for result in tested.result}
    assert {name for name, is_so in status.items() if is_so == "warn"} <= MAY_WARN
    # The hooks of a run are among the results.
    assert set(status.values()) == {"pass", "warn", "success"}


def test_a_review_finds_what_is_told_of_the_sample(rows):
    columns = "rule, severity, subject, detail, who_acts, is_excused"
    found = rows(f"select {columns} from secure_datasets.access_findings")
    told = [tuple(finding) for finding in EXPECTED["access_findings"]]
    assert sorted(map(tuple, found)) == sorted(told)


def test_where_the_sample_s_access_stands_in_reviews(rows):
    found = rows(
        "select user_id, object_type, object_id, status,"
        " cast(certified_until as string) from secure_datasets.review_status"
        " where status != 'never reviewed'"
    )
    assert sorted(found) == [tuple(row) for row in EXPECTED["review_status"]]


@pytest.mark.nightly
def test_the_pack_of_a_review_has_everybody_who_has_access(rows, project):
    # By the command; test_command_on_the_sample.py has it beside dbt's operation.
    place = ["--project-dir", str(project), "--profiles-dir", str(project)]
    assert main(["review", *place]) == YES
    views = {
        "data-source": "select meta_data_source_id, user_id from {0}data_source_access"
        " union select meta_data_source_id, user_id from {0}results_access",
        "project": "select project_id, user_id from {0}project_access",
    }
    for kind, query in views.items():
        told = set()
        for path in (project / "target/review").glob(f"{kind}-*.csv"):
            with path.open(encoding="utf-8-sig", newline="") as file:
                told |= {
                    (int(row["object id"]), int(row["user id"]))
                    for row in csv.DictReader(file)
                }
        found = rows(query.format("secure_datasets.vw_secure_user_"))
        assert told == set(map(tuple, found)), kind


def test_the_raw_tables_hold_every_delivery(rows):
    told = EXPECTED["raw_rows"] | EXPECTED["raw_rows_of_the_bank"]
    assert count(rows, "repository_sample", told) == told


def test_the_bank_has_a_table_of_each_kind_and_each_has_a_deletion(rows, project):
    declared = yaml.safe_load((project / "dbt_project.yml").read_text())["vars"]
    feeds = read_feeds(
        declared["feeds"], Macros(document_of(PRODUCTS)).repository_tables()
    )
    assert {feed["kind"] for feed in feeds.values()} == {*KINDS} - {"appended"}
    deleted = {
        table: rows(
            f"select {table[:-1]}_id from secure_datasets.stg_{table} where is_deleted"
        )
        for table, feed in feeds.items()
        if feed["kind"] != "snapshots"
    }
    assert deleted == {
        "user_group_members": [(35,)],
        "report_permissions": [(18,)],
        "template_test_executions": [(27,)],
    }


def test_a_user_whose_last_name_is_null_keeps_it(rows):
    assert rows(
        "select last_name from secure_datasets.stg_users where user_id = 6"
    ) == [("Null",)]
    assert rows(
        "select user_id from secure_datasets.stg_users where last_name = 'Null'"
    ) == [(6,)]


def test_every_published_relation_has_the_rows_told(rows):
    told = EXPECTED["relation_rows"]
    assert count(rows, "secure_datasets", told) == told


def test_a_dataset_under_view_authorization_obeys_it(rows):
    found = rows(
        "select user_id, project_id, project_name"
        " from secure_datasets.vw_secure_dataset_authorized_projects"
    )
    names = dict(
        rows("select project_id, project_name from secure_datasets.dim_projects")
    )
    allowed = [(33, project, names[project]) for project in (1, 3, 7)]
    # The owner is allowed it; user 8 is transformed; 20 is denied it, as all others.
    owned = [(12, project, names[project]) for project in (1, 7)]
    assert sorted(found) == sorted([(8, 7, "project 7"), *owned, *allowed])


@pytest.mark.nightly
def test_I_a_decisions_are_read_as_they_are_loaded(rows, project, dbt):
    authorized = "vw_secure_dataset_authorized_projects"

    def read(view: str) -> set[str]:
        """Return the relations that the text of a view names."""
        described = rows(f"describe extended {view}")
        text = next(value for key, value, _ in described if key == "View Text")
        return set(re.findall(r"(secure_datasets\w*\.\w+)", text))

    decided = {"secure_datasets.view_decisions", "secure_datasets.stg_users"}
    assert read("view_outcomes") == decided
    # The outcomes are worked out within the dataset, from the users that belong to its
    # rows, and from the decisions as they are loaded.
    by_name = {name for name in read(authorized) if "_versions." not in name}
    assert by_name == {"secure_datasets.view_decisions"}
    unrestricted = read("unrestricted_view_access")
    assert unrestricted == decided | {"secure_datasets.view_outcomes"}
    # Nothing but `dbt seed` is run.
    file = project / "seeds/view_authorization/view_decisions.csv"
    text, revoked = file.read_text(), "12,dim_projects,Allow"
    assert revoked in text
    seen = sorted(rows(f"select * from {authorized}"))
    for decisions, shown in (
        (text.replace(revoked, f"{revoked[:-5]}Deny"), []),
        (text, seen),
    ):
        file.write_text(decisions)
        assert dbt("seed", "--select", "view_decisions").success
        assert sorted(rows(f"select * from {authorized}")) == shown
    assert seen


def test_P15_a_run_of_a_role_that_lacks_privileges_builds_nothing(
    rows, dbt, parsed, capfd
):
    def versions() -> list[tuple]:
        return sorted(rows("show tables in secure_datasets_versions"))

    before = versions()
    role = ("--vars", "{pipeline_role: nobody}")
    assert not dbt("run", "--select", "stg_jobs", *role, manifest=parsed).success
    said = " ".join(capfd.readouterr().out.split())
    assert "the role 'nobody' lacks for this run:" in said
    assert "to create and fill secure_datasets.stg_jobs" in said
    assert versions() == before


def test_a_report_is_shown_to_those_who_hold_the_right_to_view_it(
    rows, spark, expected
):
    audit = "vw_dataset_effective_user_permissions"
    columns = [
        COLUMNS[audit].index(name)
        for name in ("user_id", "object_type", "object_id", "permission_name")
    ]
    held = {
        (row[columns[0]], row[columns[2]])
        for row in expected.relations[audit]
        if (row[columns[1]], row[columns[3]]) == ("Report", "View Report")
    }
    for relation in ("vw_secure_user_report_access", "vw_secure_dataset_reports"):
        found = rows(f"select user_id, report_id from secure_datasets.{relation}")
        assert len(found) == len(held)
        assert set(found) == held


def test_the_rejected_rows_are_those_told(rows):
    found = rows("select table_name, raw_id, reason from secure_datasets.rejected_rows")
    told = map(tuple, EXPECTED["rejected_rows"])
    assert sorted(found, key=str) == sorted(told, key=str)
    # What `make run` says at its end.
    printed = (ROOT / "scripts/after_run.txt").read_text(encoding="utf-8")
    assert f"{len(found)} raw rows are rejected" in printed


def test_the_dangling_references_are_those_told(rows):
    found = rows(
        "select table_name, column_name, `rows`, example_id"
        " from secure_datasets.dangling_references"
    )
    assert sorted(found) == sorted(map(tuple, EXPECTED["dangling_references"]))


def test_every_relation_is_what_the_evaluator_says(rows, spark, expected):
    names = [*expected.relations, "rejected_rows", "dangling_references"]
    results = {name: spark.table(f"secure_datasets.{name}") for name in names}
    assert {name: results[name].columns for name in expected.relations} == COLUMNS
    assert differences(results, expected) == {}


def test_a_relation_without_a_contract_has_the_columns_of_its_documentation(
    parsed, rows, spark
):
    documented, found = {}, {}
    for node in parsed.nodes.values():
        if node.resource_type != "model" or node.config.contract.enforced:
            continue
        documented[node.name] = [
            (name, column.data_type) for name, column in node.columns.items()
        ]
        schema = spark.table(f"secure_datasets.{node.name}").schema
        found[node.name] = [
            (field.name, field.dataType.simpleString()) for field in schema
        ]
    assert "int_access_paths" in found
    assert found == documented


@pytest.mark.parametrize("user", EXPECTED["secure_dataset_rows"])
def test_a_reader_sees_as_many_rows_as_told(seen, user):
    counts = {name: seen[name][str(user)].total() for name in DATASETS}
    assert counts == EXPECTED["secure_dataset_rows"][user]


@pytest.mark.parametrize("name", DATASETS)
def test_every_user_sees_what_that_user_may_see_and_no_more(seen, expected, name):
    relation = f"vw_secure_dataset_{name}"
    user_column = COLUMNS[relation].index("user_id")
    assert len(seen[name]) == 44
    for reader, found in seen[name].items():
        may_see = [
            row
            for row in expected.relations[relation]
            if row[user_column] in (int(reader), None)
        ]
        assert found == comparable(may_see)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_the_answer_to_a_question_is_the_one_told(spark, rows, name, case):
    config = {"datasets": DATASETS, "tiers": together()["tiers"]}
    query = (
        Environment()
        .from_string(ANALYSES[name])
        .render(
            ref=lambda relation: f"secure_datasets.{relation}",
            config=lambda **settings: "",
            var=lambda parameter, default: case["given"].get(parameter, default),
            secure_datasets={
                "secure_datasets_config": lambda: config,
                "sql_text": "'{}'".format,
            },
        )
    )
    answer = spark.sql(query)
    assert answer.columns == QUESTIONS[name]["columns"]
    assert [list(row) for row in answer.collect()] == case["rows"]


def test_every_analysis_answers_the_question_of_its_first_line():
    asked = {
        name: re.search(r"^-- (.*)$", text, re.M)[1] for name, text in ANALYSES.items()
    }
    assert asked == {name: question["asks"] for name, question in QUESTIONS.items()}


class Plan:
    """How Spark would answer a query."""

    def __init__(self, spark, query: str) -> None:
        self.text = spark.sql(f"explain formatted {query}").first()[0]
        # (relation, its pushed filters), a relation once for each time it is scanned
        self.scans = [
            (
                re.search(r"secure_datasets_versions\.(\w+?)__v", block)[1],
                re.search(r"PushedFilters: \[(.*)\]", block)[1].replace(" ", ""),
            )
            for block in self.text.split("\n\n")
            if "Scan parquet" in block and "PushedFilters" in block
        ]

    def filters(self, relation: str) -> list[str]:
        """The filters pushed into each scan of a relation."""
        return [filters for name, filters in self.scans if name == relation]


@pytest.mark.parametrize(
    ("dataset", "access_view", "scans"),
    [
        ("tables", "vw_secure_user_data_source_access", 1),
        ("tests", "vw_secure_user_project_access", 1),
        # The test side and the control side.
        ("test_executions", "vw_secure_user_results_access", 2),
    ],
)
def test_a_reader_s_filter_reaches_the_scan_of_the_access_view(
    spark, rows, dataset, access_view, scans
):
    plan = Plan(
        spark,
        f"select * from secure_datasets.vw_secure_dataset_{dataset} where user_id = 8",
    )
    filters = plan.filters(access_view)
    assert len(filters) == scans
    assert all("EqualTo(user_id,8)" in pushed for pushed in filters)
    assert_the_base_stays_where_it_is(plan, dataset)


def test_a_reader_s_filter_of_events_reaches_the_scans_of_both_access_views(
    spark, rows
):
    plan = Plan(
        spark,
        "select * from secure_datasets.vw_secure_dataset_event_history"
        " where user_id = 8 or user_id is null",
    )
    for kind in ("project", "data_source"):
        (pushed,) = plan.filters(f"vw_secure_user_{kind}_access")
        assert "Or(EqualTo(user_id,8),IsNull(user_id))" in pushed
    assert_the_base_stays_where_it_is(plan, "event_history")


def assert_the_base_stays_where_it_is(plan: Plan, dataset: str) -> None:
    """The few rows of the reader's rights go to the base's rows, not all to all."""
    assert plan.filters(f"vw_dataset_{dataset}")
    assert "BroadcastExchange" in plan.text
    assert "hashpartitioning" not in plan.text
