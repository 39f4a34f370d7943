"""The product in a root project of any name: what works there, and what stops."""

from __future__ import annotations

import re
import shlex
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from customer_project import CONFIG, config_macro, customer_project
from dbt.adapters.factory import FACTORY, get_adapter_by_type
from dbt.clients.jinja import get_rendered
from dbt.context.providers import generate_runtime_model_context
from dbt.include.secure_spark import PACKAGE_PATH
from dbt_common.exceptions import CompilationError
from lanes import nightly_but
from projects import ROOT

from dbt_secure_spark.macros import replacing
from secure_datasets.config.document import way_to_a_dataset

NINE = [
    *("tables", "columns", "metadata_objects", "tests", "jobs", "job_executions"),
    *("test_executions", "template_test_executions", "event_history"),
]
SECURE = "vw_secure_dataset_"
NOTHING = config_macro("policies: []\n")
# Without a connection dbt compiles no Python model.
COMPILE = (
    *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
    *("--exclude", "file:*.py", "--indirect-selection", "empty"),
)


@pytest.fixture(scope="module")
def customer(product, dbt, tmp_path_factory):
    """A root project whose files a test writes; it is parsed in parts, as dbt does."""
    folder = tmp_path_factory.mktemp("customer") / "acme"
    customer_project(folder, product, {CONFIG: NOTHING})

    parsed = dbt("parse", "--quiet", folder=folder)
    assert parsed.success, parsed.exception
    manifest, adapter = parsed.result, get_adapter_by_type("secure_spark")
    known = folder / "target/partial_parse.msgpack"
    bare = known.read_bytes()
    written: set[str] = set()

    class Customer:
        """The project, and dbt in it."""

        path: Path = folder

        def dbt(self, *arguments: str, manifest=None):
            """Call dbt."""
            return dbt(*arguments, folder=folder, manifest=manifest)

        def parse(self, files: dict[str, str], *arguments: str, **options: bool):
            """Parse the project with these files, and no others."""
            for path in written - {*files}:
                (folder / path).unlink()
            written.clear()
            for path, text in {CONFIG: NOTHING, **files}.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
            written.update({*files} - {CONFIG})
            # What dbt knew of the bare project, so that it parses only what is edited.
            known.write_bytes(bare)
            return dbt("parse", "--quiet", *arguments, folder=folder, **options)

        def compiled(self, result, *names: str) -> dict[str, str]:
            """Return what is compiled of nodes, by name."""
            assert result.success, result.exception
            select = ("--select", *names)
            done = dbt(*COMPILE, *select, folder=folder, manifest=result.result)
            assert done.success, done.exception
            return {
                found.node.name: found.node.compiled_code.strip()
                for found in done.result
            }

        def sentence(self, document: str) -> str:
            """Return what a secure dataset says of a config, without another dbt."""
            text = config_macro(document) if "{% macro" not in document else document
            (folder / CONFIG).write_text(text)
            config = manifest.macros["macro.acme.default__secure_datasets_config"]
            config.macro_sql = text
            jobs = manifest.nodes[f"model.secure_datasets.{SECURE}jobs"]
            # Other calls of dbt have other adapters.
            FACTORY.adapters[adapter.type()] = adapter
            context = generate_runtime_model_context(jobs, adapter.config, manifest)
            try:
                with pytest.raises(CompilationError) as stopped:
                    get_rendered(jobs.raw_code, context, jobs)
            finally:
                config.macro_sql = NOTHING
                (folder / CONFIG).write_text(NOTHING)
            return str(stopped.value)

        def operation(self, name: str, manifest) -> str:
            """Call an operation; return what dbt prints, on one line."""
            call = ("--quiet", "run-operation", name)
            with redirect_stdout(StringIO()) as printed:
                dbt(*call, folder=folder, manifest=manifest)
            return " ".join(printed.getvalue().split())

        def stops(self, files: dict[str, str], *arguments: str) -> str:
            """Return what dbt says where it stops while it parses."""
            result = self.parse(files, *arguments)
            assert not result.success
            return str(result.exception)

    return Customer()


def test_a_project_with_a_profile_and_a_schema_is_enough(customer):
    result = customer.parse({}, "--no-partial-parse")
    assert result.success, result.exception
    names = {node.name for node in result.result.nodes.values()}
    assert {SECURE + name for name in NINE} <= names


# Whatever refers to one of them, stops where none is there.
@pytest.mark.parametrize("off", nightly_but(["tests"], ["tests", "all"]))
def test_a_dataset_of_the_product_can_be_switched_off(off, customer):
    names = NINE if off == "all" else [off]
    document = "datasets:\n" + "".join(f"    {name}: false\n" for name in names)
    result = customer.parse({CONFIG: config_macro(document)})
    assert result.success, result.exception
    models = {
        node.name
        for node in result.result.nodes.values()
        if node.resource_type == "model" and node.name.startswith(SECURE)
    }
    assert models == {SECURE + name for name in NINE if name not in names}
    if off != "all":
        # That nothing refers to it, dbt has seen while it parsed.
        return
    compiled = customer.dbt(*COMPILE, manifest=result.result)
    assert compiled.success, compiled.exception
    for node in compiled.result:
        text = getattr(node.node, "compiled_code", "") or ""
        assert not any(SECURE + name + " " in text for name in names), node.node.name


@pytest.mark.nightly
def test_all_nine_together_leave_data_tests_that_check_nothing(customer):
    document = "datasets:\n" + "".join(f"    {name}: false\n" for name in NINE)
    result = customer.parse({CONFIG: config_macro(document)})
    (text,) = customer.compiled(result, "assert_secure_rows_have_a_grant").values()
    assert text.endswith("select 1 as nothing_to_check where false")


@pytest.mark.parametrize(
    ("document", "more", "sentence"),
    [
        ("datasets: {reports: false}\n", {},
         "dataset 'reports': is switched off by 'false', and the product has no dataset"
         " of this name (line 2 of macros/secure_datasets_config.sql)"),
        ("datasets:\n    tests: false\n    notes:\n"
         "        base: vw_secure_dataset_tests\n"
         "        columns: [test_id]\n        unique_key: [test_id]\n", {},
         "dataset 'notes': needs the dataset 'tests', which is switched off (line 5"),
        ("datasets: {tests: false}\npolicies:\n    - {role: A, resource: tests}\n", {},
         "policy 1, role 'A' on 'tests': needs the dataset 'tests', which is switched"
         " off (line 4"),
        ("datasets: {tests: false}\n",
         {"models/mine.sql": "{{ secure_datasets.secure_dataset('tests') }}"},
         "dataset 'tests': is switched off, and 'mine' is made of it"),
        ("datasets: {tests: false}\n",
         {"models/mine.sql": "select 1 from {{ ref('vw_secure_dataset_tests') }}"},
         "depends on a node named 'vw_secure_dataset_tests' which is disabled"),
    ],
    ids=["an unknown one", "a layer", "a policy", "a model", "a ref"],
)  # fmt: skip
def test_what_needs_a_dataset_that_is_switched_off_stops(
    document, more, sentence, customer
):
    assert sentence in customer.stops({CONFIG: config_macro(document), **more})


RENDERED = "{{ secure_datasets.secure_dataset('jobs') }}\n"
TAKEN = "is not read: what a root project adds to the product's datasets is the macro"
NO_TEXT = "is not the text of the macro 'default__secure_datasets_config'"
POLICIES = "policies: []\n"
BLOCK = "{% set document %}" + POLICIES + "{% endset %}"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"macros/mine.sql": config_macro(POLICIES, "secure_datasets_config")},
         "the macro 'secure_datasets_config' of the project 'acme' " + TAKEN),
        ({"macros/mine.sql": config_macro(POLICIES, "default__secure_dataset_config")},
         "the macro 'default__secure_dataset_config' of the project 'acme' " + TAKEN),
        ({"macros/mine.sql": config_macro(POLICIES, "other__secure_datasets_config")},
         "the macro 'other__secure_datasets_config' of the project 'acme' " + TAKEN),
        ({CONFIG: config_macro(BLOCK)}, NO_TEXT),
        ({CONFIG: config_macro(BLOCK + "{{ return(fromyaml(document)) }}")}, NO_TEXT),
        ({CONFIG: config_macro(
            BLOCK + "{{ return(adapter.secure_datasets().read(document, context)) }}"
         )}, NO_TEXT),
        ({CONFIG: config_macro("")}, NO_TEXT),
    ],
    ids=["plain", "misspelt", "other", "a block", "a mapping", "read", "nothing"],
)  # fmt: skip
def test_a_config_that_would_not_be_read_stops(files, sentence, customer):
    # A new macro alone is no reason for dbt to parse a model again; a new model is one.
    message = customer.stops(files | {"models/new.sql": RENDERED})
    assert sentence in message
    assert message.count("secure_datasets_config:") == 1


def test_a_block_that_is_returned_is_a_document_too(customer):
    files = {CONFIG: config_macro(BLOCK + "{{ return(document) }}")}
    assert customer.parse(files).success


WRONG = [
    ("datasets:\n    tests: {colums: [test_id]}\n",
     "dataset 'tests': unknown key 'colums'", 3),
    ("datasets:\n    tests:\n        unique_key: [id]\n",
     "dataset 'tests': 'unique_key' names 'id', which is not among its columns", 4),
    ("datasets:\n    tests: {tier: null}\n",
     "dataset 'tests': the key 'tier' is missing", 3),
    ("datasets:\n    reports:\n        columns: [a]\n",
     "dataset 'reports': the key 'base' is missing", 3),
    ("datasets:\n    reports: {base: nothing, columns: [a], unique_key: [a],"
     " visible_to: everyone}\n",
     "dataset 'reports': 'base' names 'nothing', which is no model and no seed", 3),
    ("tiers:\n    reports: {access_view: vw_secure_user_roles, object_keys: [user_id],"
     " carries: []}\n",
     "tier 'reports': user_id is in every access view", 3),
    ("policies:\n    - {role: A, resource: jobs}\n    - {role: A, resource: jobs}\n",
     "policy 2, role 'A' on 'jobs': ", 4),
    ("policies:\n    - {role: A, resource: jobs, condition: '{{ nothing }}'}\n",
     "policy 1, role 'A' on 'jobs': 'condition' has the name 'nothing' in braces", 3),
    ("policies:\n    - role: A\n      resource: jobs\n      condition: >-\n"
     "        job_name in (select a.x from {{ ref('vw_secure_dataset_jobs') }} as a)\n",
     "policy 1, role 'A' on 'jobs': 'condition' reads 'vw_secure_dataset_jobs': every"
     " secure dataset would depend on itself; read its base, or a model below it", 6),
    ("policies:\n    - {role: A, resource: jobs} {# why #}\n",
     "the config: has a Jinja comment", 3),
    ("policies:\n    - role: A\n      role: B\n",
     "policy 1: the key 'role' is there twice", 4),
]  # fmt: skip


@pytest.mark.parametrize(("document", "sentence", "line"), WRONG)
def test_a_mistake_is_told_with_the_line_of_the_projects_own_file(
    document, sentence, line, customer
):
    message = customer.sentence(document)
    assert sentence in message
    assert f"(line {line} of macros/secure_datasets_config.sql)." in message


def test_a_rule_that_reads_a_secure_dataset_through_models_is_told(customer):
    rule = "job_name in (select a.x from {{ ref('a_report') }} as a)"
    message = customer.stops(
        {
            CONFIG: config_macro(
                "policies:\n    - role: A\n      resource: tables\n"
                f"      condition: {rule.replace('job_name', 'full_path')}\n"
            ),
            "models/a_report.sql": "select 1 as x from {{ ref('below') }}",
            "models/below.sql": "select x from {{ ref('vw_secure_dataset_jobs') }}",
        }
    )
    assert (
        "policy 1, role 'A' on 'tables': 'condition' reads 'a_report', which reads"
        " 'below', which reads 'vw_secure_dataset_jobs': every secure dataset"
    ) in message, message
    assert "(line 5 of macros/secure_datasets_config.sql)." in message


ASKS = "{{% macro asks() %}}{{{{ ref('{}') }}}}{{% endmacro %}}"
SNAPSHOT = """
snapshots:
  - name: a_snapshot
    relation: ref('vw_secure_dataset_jobs')
    config: {unique_key: job_id, strategy: check, check_cols: all}
"""


@pytest.mark.parametrize(
    ("read", "more", "way"),
    [
        ("asks()", {"macros/asks.sql": ASKS.format("vw_secure_dataset_jobs")},
         "'asks', which reads 'vw_secure_dataset_jobs': every"),
        ("ref('a_snapshot')", {"snapshots/a.yml": SNAPSHOT},
         "'a_snapshot', which reads 'vw_secure_dataset_jobs': every"),
        # It is made of the config too.
        ("ref('access_explanations')", {}, "'access_explanations': every secure"),
    ],
    ids=["a macro", "a snapshot", "what is made of the config"],
)  # fmt: skip
def test_a_rule_that_reads_what_is_made_of_rules_is_told(read, more, way, customer):
    rule = f"full_path in (select a.x from {{{{ {read} }}}} as a)"
    document = (
        f"policies:\n    - role: A\n      resource: tables\n      condition: {rule}"
    )
    message = customer.stops({CONFIG: config_macro(f"{document}\n"), **more})
    assert f"policy 1, role 'A' on 'tables': 'condition' reads {way}" in message
    assert "(line 5 of macros/secure_datasets_config.sql)." in message


def test_a_source_over_a_secure_dataset_is_one():
    def node(name: str, **more) -> SimpleNamespace:
        return SimpleNamespace(
            name=name, alias=name, schema="S", resource_type="model",
            **{"refs": [], "sources": [], **more},
        )  # fmt: skip

    source = SimpleNamespace(
        source_name="shown", name="jobs", schema="s", identifier=SECURE + "JOBS"
    )
    manifest = SimpleNamespace(
        nodes={
            "a": node(SECURE + "jobs"),
            "b": node("a_report", sources=[["shown", "jobs"]]),
            "c": node("another", sources=[["shown", "other"]]),
        },
        sources={"d": source},
        files={},
    )
    ways = [
        way_to_a_dataset(name, manifest)
        for name in ("a_report", "shown.jobs", "another", "shown.other")
    ]
    way = ["shown.jobs", SECURE + "jobs"]
    assert ways == [["a_report", *way], way, [], []]


def test_a_mistake_in_the_products_document_is_told_with_its_package(customer):
    # The columns are the product's, the base is the project's.
    document = "datasets:\n    jobs: {base: vw_dataset_tables}\n"
    message = customer.sentence(document)
    assert (
        "dataset 'jobs': 'columns' has 'project_id', which the documentation" in message
    )
    file = "macros/config/secure_datasets_config.sql of the package secure_datasets"
    assert f" of {file})." in message


def test_an_entry_of_the_product_is_changed_by_the_keys_that_are_given(customer):
    document = """
datasets:
    tests:
        columns: [test_id, project_id, test_name]
        unchecked: null
policies:
    - {role: Operations, resource: tests, condition: project_id = 7}
"""
    result = customer.parse({CONFIG: config_macro(document)})
    text = customer.compiled(result, "vw_secure_dataset_tests")
    (sql,) = text.values()
    assert "base.test_id,\n" in sql
    assert "base.quality_dimension" not in sql
    assert "(project_id = 7)" in sql


REPORTS = {
    CONFIG: config_macro("""
tiers:
    reports:
        access_view: report_access
        object_keys: [report_id]
        carries: []
        right: {object_type: Report, permission: View Report}
datasets:
    reports:
        base: all_reports
        columns: [report_id, report_name]
        unique_key: [report_id]
        tier: reports
        keys: {report_id: report_id}
"""),
    "models/all_reports.sql": (
        "select report_id, name as report_name\n"
        "from {{ ref('secure_datasets', 'stg_reports') }}\nwhere is_live\n"
    ),
    "models/report_access.sql": (
        "select distinct object_id as report_id, user_id\n"
        "from {{ ref('vw_dataset_effective_user_permissions') }}\n"
        "where object_type = 'Report' and permission_name = 'View Report'\n"
    ),
    "models/secure/vw_secure_dataset_reports.sql": (
        "{{ secure_datasets.secure_dataset('reports') }}\n"
    ),
    "models/models.yml": """
models:
  - name: all_reports
    columns:
      - {name: report_id, config: {meta: {refers_to: stg_reports}}}
      - {name: report_name}
    data_tests:
      - secure_datasets.unique_rows: {arguments: {columns: [report_id]}}
  - name: report_access
    columns:
      - {name: report_id, config: {meta: {refers_to: stg_reports}}}
      - {name: user_id}
""",
}


def test_a_tier_and_a_secure_dataset_of_the_projects_own(customer):
    stored = (
        "models: [{name: vw_secure_dataset_reports, config: {materialized: table}}]"
    )
    result = customer.parse({**REPORTS, "models/secure/stored.yml": stored})
    # A stored copy would go on showing a right that is revoked.
    (own,) = (
        node.config
        for node in result.result.nodes.values()
        if node.unique_id == f"model.acme.{SECURE}reports"
    )
    assert (own.materialized, own["inline_views"], own["reads_latest"]) == (
        *("view", True, False),
    )
    names = ["vw_secure_dataset_reports", "rows_per_dataset", "leaks"]
    texts = customer.compiled(result, *names, "assert_secure_rows_have_a_grant")
    schema = "acme_secure"
    assert texts["vw_secure_dataset_reports"] == (
        "-- Rendered from the entry 'reports' of secure_datasets_config().\n"
        "select\n    base.report_id,\n    base.report_name,\n    access.user_id\n"
        f"from {schema}.all_reports as base\n"
        f"inner join {schema}.report_access as access\n"
        "    on base.report_id = access.report_id"
    )
    assert f"from {schema}.vw_secure_dataset_reports" in texts["rows_per_dataset"]
    assert "'reports'" in texts["assert_secure_rows_have_a_grant"]
    # The base has rules of its own; who decides about access must excuse it.
    assert "'report_access', 'rules-of-its-own'" in texts["leaks"]
    assert "'all_reports'" not in texts["leaks"]
    tests = {n.name for n in result.result.nodes.values() if n.package_name == "acme"}
    assert any("unique_rows_all_reports" in name for name in tests)


def test_a_config_that_is_new_is_never_ignored(customer):
    # dbt parses only what has changed, and a new macro changes no model.
    assert customer.parse({}).success
    (customer.path / CONFIG).unlink()
    assert customer.dbt("parse", "--quiet", "--no-partial-parse").success
    (customer.path / CONFIG).write_text(config_macro("datasets: {tests: false}\n"))
    result = customer.dbt(*COMPILE, "--select", "vw_secure_dataset_jobs")
    assert not result.success
    assert "is new: call dbt with --no-partial-parse, once" in str(result.exception)


@pytest.mark.nightly
def test_a_dataset_that_is_switched_on_again_is_never_missing(customer):
    assert customer.parse({CONFIG: config_macro("datasets: {tests: false}\n")}).success
    (customer.path / CONFIG).write_text(NOTHING)
    result = customer.dbt(*COMPILE, "--select", "vw_secure_dataset_jobs")
    assert not result.success
    message = str(result.exception)
    assert "vw_secure_dataset_tests' which is disabled" in message or (
        "dataset 'tests': its model is disabled, and the config offers it" in message
    )


@pytest.mark.nightly
def test_a_dataset_is_not_disabled_beside_the_config(customer):
    settings = customer.path / "dbt_project.yml"
    before = settings.read_text()
    off = "models: {secure_datasets: {secure: {+enabled: false}}}\n"
    analyses = "analyses: {secure_datasets: {+enabled: false}}\n"
    text = before[: before.index("models:")] + off + analyses
    settings.write_text(text)
    (customer.path / CONFIG).write_text(NOTHING)
    try:
        result = customer.dbt(*COMPILE, "--select", "leaks")
    finally:
        settings.write_text(before)
    assert not result.success
    assert "which is disabled" in str(result.exception) or (
        "its model is disabled, and the config offers it" in str(result.exception)
    )


@pytest.mark.nightly
def test_rows_that_are_written_are_checked_in_a_root_project(customer):
    document = "policies: [{role: Operations, resource: jobs, condition: job_id = 7}]\n"
    files = {
        CONFIG: config_macro(document),
        "models/checked.sql": (
            "{{ secure_datasets.checked_rows('jobs', 'Operations',"
            " ref('vw_dataset_jobs')) }}"
        ),
        "models/models.yml": """
models:
  - name: checked
    data_tests:
      - secure_datasets.unique_rows: {arguments: {columns: [job_id]}}
      - secure_datasets.rows_pass_the_check:
          arguments: {dataset: jobs, role: Operations}
""",
    }
    result = customer.parse(files)
    texts = customer.compiled(result, "checked", "checked,test_type:generic")
    assert "when (job_id = 7) is not true then" in texts.pop("checked")
    assert texts == {}
    tests = customer.compiled(result, "package:acme,resource_type:test")
    assert len(tests) == 2
    assert sum("rejection_reason is not null" in text for text in tests.values()) == 1
    assert sum("group by job_id" in text for text in tests.values()) == 1


def test_operations_work_in_a_root_project(customer, capsys):
    document = "policies: [{role: Operations, resource: jobs, condition: job_id = 7}]\n"
    assert customer.parse({CONFIG: config_macro(document)}).success
    asked = ("--args", "{dataset: jobs}")
    for name in ("print_predicate", "secure_datasets.print_predicate"):
        capsys.readouterr()
        done = customer.dbt("--quiet", "run-operation", name, *asked)
        assert done.success, done.exception
        assert "job_id = 7" in capsys.readouterr().out


@pytest.fixture
def with_vars(customer):
    """Set the root project's variables; give where staging reads, and what is wrong."""
    settings = customer.path / "dbt_project.yml"
    before = settings.read_text()

    def call(variables: dict) -> tuple[str, str]:
        project = yaml.safe_load(before) | {"vars": variables}
        settings.write_text(yaml.safe_dump(project, sort_keys=False))
        result = customer.parse({})
        assert result.success, result.exception
        (schema,) = {node.schema for node in result.result.sources.values()}
        checked = customer.operation("check_vars", result.result)
        return schema, checked

    yield call
    settings.write_text(before)


OF_ONE = {"secure_datasets": {"raw_schema": "for_one"}}


@pytest.mark.nightly
def test_variables_of_the_package_come_before_those_of_all_projects(with_vars):
    assert with_vars({**OF_ONE, "raw_schema": "for_all"}) == ("for_one", "")


@pytest.mark.nightly
def test_variables_are_set_for_all_projects_or_for_the_package(with_vars):
    assert with_vars({"raw_schema": "for_all"}) == ("for_all", "")
    assert with_vars(OF_ONE) == ("for_one", "")
    for wrong in ({"secure_datasets": {"summary": "no"}}, {"summary": "no"}):
        _, said = with_vars({"raw_schema": "for_all", **wrong})
        assert "The variable summary is 'no'; it must be true or false." in said


@pytest.mark.nightly
def test_a_variable_of_the_package_that_is_spelled_wrongly_is_told(with_vars):
    wrong = {"raw_schema": "for_all", "secure_datasets": {"readers_view": True}}
    _, said = with_vars(wrong)
    assert "under vars of secure_datasets, which has the variable readers_views" in said


@pytest.mark.parametrize(
    "operation", nightly_but(["check_vars"], ["check_vars", "publish_readers_objects"])
)
def test_a_variable_that_is_spelled_wrongly_stops_with_a_sentence(
    customer, capsys, operation
):
    """Or the operation would take what it asks for to be wanted no longer."""
    assert customer.parse({}).success
    capsys.readouterr()
    given = ("--vars", "{readers: [people], reader_views: true}")
    assert not customer.dbt("--quiet", "run-operation", operation, *given).success
    said = " ".join(capsys.readouterr().out.split())
    assert "'reader_views', and secure_datasets has the variable readers_views" in said


LEAK = {
    "models/exported.sql": "select user_id, login_name from {{ ref('stg_users') }}\n",
    "models/own_rows.sql": "select * from {{ ref('vw_secure_dataset_jobs') }}\n",
}


def test_a_model_of_the_root_project_that_leaks_is_found(customer):
    result = customer.parse(LEAK)
    for name in ("leaks,resource_type:model", "assert_nothing_leaks"):
        (text,) = customer.compiled(result, name).values()
        assert "('exported', 'rules-of-its-own', 'stg_users'" in text
        assert "'own_rows'" not in text


OWN_SEEDS = {
    "leak_exceptions": "model_name,owner,reason,expires_on",
    "view_decisions": "user_id,object_name,decision",
    "privilege_grants": "role_name,privilege,object_type,object_name",
    "role_hierarchy": "role_name,inherits_role_name,is_secondary",
    "role_operations": "role_name,operation,object_name",
    "expected_access": "subject_type,subject,dataset,tier,object,expects,reason"
    ",expires_on",
    "finding_exceptions": "rule,subject,owner,reason,expires_on",
    "toxic_pairs": "object_type,permission_name,other_permission_name,reason",
    "review_decisions": "object_type,object_id,user_id,seen,decision,decided_by"
    ",decided_on",
}


def test_a_seed_that_is_there_twice_stops(customer):
    files = {"seeds/leak_exceptions.csv": "model_name,owner,reason,expires_on\n"}
    message = customer.stops(files)
    assert "two resources with the database representation" in message


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"models/leaks.sql": "{{ config(schema='own') }}select 1 as a"},
         "The model 'leaks' of the project 'acme' has the name of a model of"),
        ({"models/VW_SECURE_DATASET_JOBS.sql": "select 1 as a"},
         "The model 'VW_SECURE_DATASET_JOBS' of the project 'acme' has the name of a"),
        ({"models/sources.yml": "sources: [{name: repository, schema: own,"
          " tables: [{name: users}]}]"},
         "The source 'repository.users' of the project 'acme' has the name of a"),
    ],
    ids=["a model", "a model in other letters", "a source"],
)  # fmt: skip
def test_a_name_that_two_projects_have_stops_before_anything_is_built(
    files, said, customer
):
    assert said in customer.operation("check_names", customer.parse(files).result)
    project = yaml.safe_load((ROOT / "dbt_project.yml").read_text())
    assert project["on-run-start"][:3] == [
        "{{ secure_datasets.check_names() }}",
        # Of roles that are none, `check_vars` tells first.
        "{{ secure_datasets.check_vars() }}",
        "{{ secure_datasets.check_models() }}",
    ]


@pytest.mark.nightly
def test_what_is_said_of_all_models_stops_before_anything_is_built(
    product, dbt, tmp_path
):
    folder, said = tmp_path / "acme", {"+materialized": "table"}
    customer_project(folder, product, REPORTS, {"models": said})
    result = dbt("parse", "--quiet", folder=folder)
    assert result.success, result.exception
    # The project's own secure dataset is a view of one state all the same.
    (own,) = (
        node.config
        for node in result.result.nodes.values()
        if node.unique_id == f"model.acme.{SECURE}reports"
    )
    assert (own.materialized, own["inline_views"], own["reads_latest"]) == (
        *("view", True, False),
    )
    with redirect_stdout(StringIO()) as printed:
        call = ("--quiet", "run-operation", "check_models")
        dbt(*call, folder=folder, manifest=result.result)
    told = " ".join(printed.getvalue().split())
    assert "of secure_datasets is to be materialized: " in told
    assert "let what it says of models stand under the name of your project" in told


HR = {"+grants": {"select": "hr"}}
KEPT = {"+materialized": "published_view", "+file_format": "parquet"}
# Which others there are, tests/python/config/test_installed.py says.
STOPPING = {
    "grants of a whole folder": (
        {"models": {"acme": KEPT, "secure_datasets": {"access": HR, "secure": HR}}},
        "'hr' reads secure datasets and is granted '",
    ),
    "quoted names": (
        {"quoting": {"schema": True, "identifier": True}},
        "and versions are found by names without backticks: take `quoting` out of",
    ),
}


@pytest.mark.parametrize("name", nightly_but(["grants of a whole folder"], STOPPING))
def test_who_reads_secure_datasets_is_not_granted_what_they_are_made_of(
    product, dbt, tmp_path, name
):
    folder, (settings, sentence) = tmp_path / "acme", STOPPING[name]
    customer_project(folder, product, REPORTS, settings)
    parsed = dbt("parse", "--quiet", folder=folder)
    assert parsed.success, parsed.exception
    with redirect_stdout(StringIO()) as printed:
        call = ("--quiet", "run-operation", "check_models")
        dbt(*call, folder=folder, manifest=parsed.result)
    assert sentence in " ".join(printed.getvalue().split())


OWN_GRANTS = """
{% macro open_up(name, role) %}
    -- Whatever the name is.
    {%- call statement('grants') -%}
        grant select on {{ name }} to {{ role }}
    {%- endcall -%}
{% endmacro %}
{% macro open_quickly(name) %}
    {% do adapter.add_query('grant select on ' ~ name ~ ' to hr') %}
{% endmacro %}
{% macro open_by_connection(name) %}
    {%- set grant = 'grant select on ' ~ name ~ ' to hr' -%}
    {% do adapter.run_sql_for_tests(grant, none, adapter.add_query('select 1')[0]) %}
{% endmacro %}
{% macro open_by_text(name) %}
    {%- set grant = 'grant select on ' ~ name ~ ' to hr' -%}
    {% do adapter.add_query('execute immediate %s', bindings=[grant]) %}
{% endmacro %}
"""
UNREADABLE = "A statement has the word grant, and can't be read"
READS_ALL = (
    ", which shows the rows of all users, to more than `grants` in dbt_project.yml"
)
MANY = ", and with it what shows the rows of all users: take it away"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("hooks", "said"),
    [
        ({"on-run-start": "{{ open_up(target.schema ~ '.all_reports', 'hr') }}"},
         ".all_reports'" + READS_ALL),
        # Operations, below, are stopped by the same method.
        pytest.param(
            {"on-run-end": "grant select on schema {{ target.schema }} to hr"},
            MANY, marks=pytest.mark.nightly,
        ),
        pytest.param({"models": {"acme": {**KEPT, "first": {
            "+post-hook": "{{ open_quickly(this.schema ~ '.stg_users') }}"}}}},
         ".stg_users'" + READS_ALL, marks=pytest.mark.nightly),
    ],
    ids=["before a run", "after a run", "after a model"],
)  # fmt: skip
def test_no_statement_of_a_run_grants_what_secure_datasets_are_made_of(
    product, dbt, spark, tmp_path, hooks, said
):
    """Plain Spark knows no grants: it would not take the statement for one."""
    folder = tmp_path / "acme"
    own = {"macros/own.sql": OWN_GRANTS, "models/first.sql": "select 1 as a"}
    raw = {"vars": {"raw_schema": "replica_of_grants"}}
    customer_project(folder, product, {**REPORTS, **own}, hooks | raw)
    current = spark.catalog.currentDatabase()
    spark.sql("create schema replica_of_grants")
    try:
        with redirect_stdout(StringIO()) as printed:
            assert not dbt("run", "--select", "first", folder=folder).success
    finally:
        for schema in ("acme_secure", "acme_secure_versions", "replica_of_grants"):
            spark.sql(f"drop schema if exists {schema} cascade")
        spark.sql(f"use {current}")
    assert said in " ".join(printed.getvalue().split())


@pytest.mark.spark
def test_no_operation_grants_what_secure_datasets_are_made_of(product, dbt, tmp_path):
    folder = tmp_path / "acme"
    customer_project(folder, product, {**REPORTS, "macros/own.sql": OWN_GRANTS})
    for macro, name, said in (
        ("open_quickly", "acme_secure.all_reports", READS_ALL),
        ("open_quickly", "any file", MANY),
        ("open_by_connection", "acme_secure.all_reports", READS_ALL),
        ("open_by_text", "acme_secure.all_reports", UNREADABLE),
    ):
        call = ("--quiet", "run-operation", macro, "--args")
        with redirect_stdout(StringIO()) as printed:
            arguments = yaml.safe_dump({"name": name})
            assert not dbt(*call, arguments, folder=folder).success
        assert said in " ".join(printed.getvalue().split())


OWN_VIEWS = "{% materialization view, adapter='spark' %}{% endmaterialization %}"
OF_SPARK = "{% macro spark__create_view_as(relation, sql) %}x{% endmacro %}"
DISPATCH = [{"macro_namespace": "dbt", "search_order": ["acme", "dbt"]}]


@pytest.mark.parametrize(
    ("macro", "settings", "is_refused"),
    nightly_but(
        [(OF_SPARK, {"dispatch": DISPATCH}, True)],
        [
            ("{% macro run_name() %}nightly{% endmacro %}", {}, True),
            (OWN_VIEWS, {}, True),
            (OF_SPARK, {}, False),
            (OF_SPARK, {"dispatch": DISPATCH}, True),
            ("{% macro own() %}x{% endmacro %}", {"dispatch": DISPATCH}, False),
        ],
    ),
)
def test_no_macro_of_a_root_project_publishes_in_the_place_of_the_adapter_s(
    product, dbt, tmp_path, macro, settings, is_refused
):
    folder = tmp_path / "acme"
    customer_project(folder, product, {"macros/own.sql": macro}, settings)
    parsed = dbt("parse", "--quiet", folder=folder)
    assert parsed.success, parsed.exception
    with redirect_stdout(StringIO()) as printed:
        call = ("--quiet", "run-operation", "check_models")
        result = dbt(*call, folder=folder, manifest=parsed.result)
    told = " ".join(printed.getvalue().split())
    said = "of the project 'acme' (macros/own.sql) would be called in the place of"
    assert result.success is not is_refused, told
    assert (said in told) is is_refused


def test_no_macro_of_a_root_project_is_asked_before_one_of_the_adapter_is():
    # dbt's macro of this name asks which adapter's it is; one in its place does not.
    def macros(package: str, *names: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(name=name, package_name=package) for name in names]

    adapters = {file.stem for file in Path(PACKAGE_PATH).glob("macros/*.sql")}
    own = {name for name in adapters if name.startswith("secure_spark__")}
    asked = {name.removeprefix("secure_spark__") for name in own}
    assert {"apply_grants", "create_view_as"} < asked
    by_name = {"run_name", "switch_view", "end_run"}
    assert by_name < adapters
    found = [*macros("dbt_secure_spark", *adapters), *macros("acme", *asked, *by_name)]
    replaced = {macro.name for macro in replacing(found, "acme", ())}
    assert replaced == asked - {"generate_schema_name"} | by_name


def test_a_customer_s_models_as_they_come_do_not_stop(customer):
    assert customer.operation("check_models", customer.parse(REPORTS).result) == ""


@pytest.mark.parametrize("file_format", nightly_but(["delta"], ["delta", "iceberg"]))
def test_a_model_may_be_its_table_format_s_own_table(file_format, customer):
    setting = f"{{{{ config(materialized='table', file_format='{file_format}') }}}}\n"
    # A setting of a whole folder, as the page has it, says the same.
    assert (
        "+materialized: table\n      +file_format: delta"
        in (ROOT / "docs/building-on-it-reference.md").read_text()
    )
    totals = "select count(*) as executions from {{ ref('all_reports') }}"
    files = {**REPORTS, "models/totals.sql": setting + totals}
    result = customer.parse(files)
    parsed = result.result
    assert customer.operation("check_models", parsed) == ""
    assert customer.compiled(result, "totals")
    inline = setting + "{{ create_table_as(False, ref('totals'), 'select 1 as a') }}"
    options = ("--quiet", "--no-populate-cache", "--no-introspect")
    done = customer.dbt("compile", "--inline", inline, *options, manifest=parsed)
    rendered = " ".join(done.result.results[0].node.compiled_code.split())
    (totals,) = (n for n in parsed.nodes.values() if n.name == "totals")
    assert rendered == (
        f"create or replace table {totals.relation_name} using {file_format}"
        " as select 1 as a"
    )


def test_names_that_differ_do_not_stop(customer):
    assert customer.operation("check_names", customer.parse(REPORTS).result) == ""


def test_what_is_private_to_the_product_is_refused_in_one_sentence(customer):
    files = {"models/paths.sql": "select * from {{ ref('int_access_paths') }}"}
    message = customer.stops(files)
    assert (
        "Node model.acme.paths attempted to reference node"
        " model.secure_datasets.int_access_paths, which is not allowed because the"
        " referenced node is private to the 'access_resolution' group."
    ) in message


@pytest.mark.nightly
def test_the_selections_of_the_docs_work_in_a_root_project(customer):
    page = (ROOT / "docs/building-on-it-reference.md").read_text()
    (command,) = set(re.findall(r"^dbt build (--exclude .*)$", page, re.M))
    manifest = customer.parse(REPORTS).result

    def listed(*arguments: str) -> set[str]:
        found = customer.dbt("ls", "--quiet", *arguments, manifest=manifest)
        assert found.success, found.exception
        return set(found.result)

    names = listed(*shlex.split(command))
    assert "acme.all_reports" in names
    assert "secure_datasets.access.vw_secure_user_project_access" in names
    assert any("assert_nothing_leaks" in name for name in names)
    assert not any(name.startswith("unit_test:") for name in names)
    selected = {
        selection: listed("--select", selection, "--resource-type", "model")
        for selection in re.findall(r"`--select (\S+)`", page)
    }
    assert selected.pop("package:acme") == {
        *("acme.all_reports", "acme.report_access"),
        "acme.secure.vw_secure_dataset_reports",
    }
    assert len(selected) == 3 and all(selected.values())
    for found in selected.values():
        assert all(name.startswith("secure_datasets.") for name in found)


def test_the_config_of_the_docs_is_one(customer):
    page = (ROOT / "docs/building-on-it-reference.md").read_text()
    macros = re.findall(r"^```jinja\n(.*?)^```$", page, re.M | re.S)
    (macro,) = (each for each in macros if "secure_datasets_config" in each)
    result = customer.parse({CONFIG: macro})
    assert result.success, result.exception
    names = {node.name for node in result.result.nodes.values()}
    assert "vw_secure_dataset_event_history" not in names


@pytest.mark.nightly
def test_the_settings_of_the_docs_leave_no_seed_there_twice(customer):
    page = (ROOT / "docs/building-on-it-reference.md").read_text()
    (text,) = re.findall(r"^```yaml\n(seeds:.*?)^```$", page, re.M | re.S)
    settings = customer.path / "dbt_project.yml"
    before = settings.read_text()
    project = yaml.safe_load(before) | yaml.safe_load(text)
    settings.write_text(yaml.safe_dump(project, sort_keys=False))
    files = {f"seeds/{name}.csv": f"{text}\n" for name, text in OWN_SEEDS.items()}
    # Every setting must have something to apply to.
    files["models/mine.sql"] = "select 1 as a"
    try:
        result = customer.parse(files, "--no-partial-parse", "--warn-error")
        assert result.success, result.exception
    finally:
        settings.write_text(before)
    nodes = result.result.nodes
    for name in OWN_SEEDS:
        own, products = f"seed.acme.{name}", f"seed.secure_datasets.{name}"
        assert own in nodes and products not in nodes
        readers = [
            node.name
            for node in nodes.values()
            if own in node.depends_on_nodes and node.resource_type == "model"
        ]
        assert readers or name in ("role_operations", "expected_access"), name
    assert nodes["seed.acme.leak_exceptions"].config.column_types == {
        "expires_on": "date"
    }


# What docs/building-on-it-reference.md selects.
EDITED = ("state:modified.body", "state:modified.configs")


@pytest.mark.nightly
def test_an_edit_of_the_projects_document_is_seen_by_state_modified(customer, tmp_path):
    assert customer.parse({}, writes_manifest=True).success
    shutil.copy(customer.path / "target/manifest.json", tmp_path)
    document = "policies: [{role: Operations, resource: jobs}]\n"
    manifest = customer.parse({CONFIG: config_macro(document)}).result
    select = ("--select", "state:modified", "--state", str(tmp_path))
    found = customer.dbt("ls", "--quiet", *select, manifest=manifest)
    assert found.success, found.exception
    selected = {name for name in found.result if name.startswith("secure_datasets.")}
    assert {f"secure_datasets.secure.{SECURE}{name}" for name in NINE} <= selected
    assert not any(".staging.stg_" in name for name in selected)
    # All share the document's macro; the text of one alone is another.
    select = ("--select", *EDITED, "--state", str(tmp_path))
    kind = ("--resource-type", "model")
    found = customer.dbt("ls", "--quiet", *kind, *select, manifest=manifest)
    assert found.success, found.exception
    assert found.result == [f"secure_datasets.secure.{SECURE}jobs"]


def test_the_roles_of_a_root_projects_policies_are_looked_at(customer):
    document = "policies: [{role: Nobody bears it, resource: jobs}]\n"
    result = customer.parse({CONFIG: config_macro(document)})
    name = "assert_roles_of_policies_are_borne"
    (text,) = customer.compiled(result, name).values()
    assert "('Nobody bears it', cast(null as bigint), 'jobs')" in text


@pytest.mark.nightly
def test_the_config_of_a_package_between_is_read_where_dispatch_says_so(
    product, dbt, tmp_path
):
    between = tmp_path / "between"
    (between / "macros").mkdir(parents=True)
    (between / "dbt_project.yml").write_text("name: between\nprofile: between\n")
    document = "datasets: {tests: false}\n"
    (between / CONFIG).write_text(config_macro(document))
    packages = [{"local": str(product)}, {"local": str(between)}]
    files = {"packages.yml": yaml.safe_dump({"packages": packages})}
    folder = customer_project(tmp_path / "acme", product, files)
    result = dbt("parse", "--quiet", folder=folder)
    assert not result.success
    assert "of the project 'between' " + TAKEN in str(result.exception)
    settings = yaml.safe_load((folder / "dbt_project.yml").read_text())
    order = ["acme", "between", "secure_datasets"]
    own = [{"macro_namespace": "secure_datasets", "search_order": order}]
    settings |= {"dispatch": own}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(settings))
    result = dbt("parse", "--quiet", folder=folder)
    assert result.success, result.exception
    names = {node.name for node in result.result.nodes.values()}
    assert "vw_secure_dataset_tests" not in names


STAR = """
datasets:
    countries:
        query: {dimensions: {country: dim_shops.country}}
        columns: [country]
        unique_key: [country]
        visible_to: everyone
relations:
    dim_shops:
        kind: dimension
        columns: {shop_id: bigint, country: string}
        levels: [[shop_id], [country]]
    group_countries:
        kind: mapping
        columns: {user_group_id: bigint, country: string}
sml: [models/security/*.yml]
"""
OBJECT = """\
unique_name: Country Security Filter
label: Country Security Filter
object_type: row_security
dataset: group_countries
filter_key_column: country
use_filter_key: true
ids_column: user_group_id
id_type: groupname
scope: related
secure_totals: true
"""
LINK = """\
relationships:
  - unique_name: GeographyDimension_CustomerDimSecurity
    from:
      hierarchy: Geography City
      level: CountryCity
      dataset: dim_shops
      join_columns:
        - country
    to:
      row_security: Country Security Filter
    type: embedded
"""
SECURED_STAR = {
    CONFIG: config_macro(STAR),
    "models/security/object.yml": OBJECT,
    "models/security/link.yml": LINK,
    "models/dim_shops.sql": "select cast(1 as bigint) as shop_id, 'FR' as country",
    "models/group_countries.sql": (
        "select cast(1 as bigint) as user_group_id, 'FR' as country"
    ),
    "models/vw_secure_dataset_countries.sql": (
        "{{ secure_datasets.secure_dataset('countries') }}"
    ),
}


def test_S23_files_of_sml_below_the_models_secure_a_star(customer):
    result = customer.parse(SECURED_STAR)
    found = customer.compiled(result, SECURE + "countries")[SECURE + "countries"]
    assert "group_countries as mapping" in found
    model = result.result.nodes[f"model.acme.{SECURE}countries"]
    assert "model.acme.group_countries" in model.depends_on.nodes


def test_S23_a_file_of_sml_that_changes_is_not_compiled_over_what_dbt_knew(customer):
    assert customer.parse(SECURED_STAR).success
    path = customer.path / "models/security/object.yml"
    path.write_text(OBJECT.replace("related", "all"))
    select = ("--select", SECURE + "countries")
    stopped = customer.dbt(*COMPILE, *select)
    assert not stopped.success
    told = str(stopped.exception or [each.message for each in stopped.result])
    assert "files that 'sml' names have changed" in told
    assert customer.dbt(*COMPILE, *select, "--no-partial-parse").success


def test_S23_a_mistake_in_a_file_of_sml_stops_dbt_while_it_parses(customer):
    wrong = {"models/security/link.yml": LINK.replace("CountryCity", "shop_id")}
    assert (
        "relationship 1, from: 'level' is 'shop_id', and 'country' of 'join_columns' is"
        " of another level of 'dim_shops' (line 5 of models/security/link.yml)."
    ) in customer.stops(SECURED_STAR | wrong)
