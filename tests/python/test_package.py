"""The product in a root project of any name: what works there, and what stops."""

from __future__ import annotations

from pathlib import Path

import pytest
from customer_project import CONFIG, config_macro, customer_project

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

    written: set[str] = set()

    class Customer:
        """The project, and dbt in it."""

        path: Path = folder

        def dbt(self, *arguments: str, manifest=None):
            """Call dbt."""
            return dbt(*arguments, folder=folder, manifest=manifest)

        def parse(self, files: dict[str, str], *arguments: str):
            """Parse the project with these files, and no others."""
            for path in written - {*files}:
                (folder / path).unlink()
            written.clear()
            for path, text in {CONFIG: NOTHING, **files}.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_text(text)
            written.update({*files} - {CONFIG})
            # What dbt knew of the bare project, so that it parses only what is edited.
            known = folder / "target/partial_parse.msgpack"
            if bare := getattr(self, "bare", None):
                known.write_bytes(bare)
            result = dbt("parse", "--quiet", *arguments, folder=folder)
            if not files and result.success:
                Customer.bare = known.read_bytes()
            return result

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


@pytest.mark.parametrize("off", [*NINE, "all"])
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
    compiled = customer.dbt(*COMPILE, manifest=result.result)
    assert compiled.success, compiled.exception
    for node in compiled.result:
        text = getattr(node.node, "compiled_code", "") or ""
        assert not any(SECURE + name + " " in text for name in names), node.node.name


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


TAKEN = "is not read: what a root project adds to the product's datasets is the macro"
NO_TEXT = "is not the text of the macro 'default__secure_datasets_config'"
POLICIES = "policies: []\n"
BLOCK = "{% set document %}" + POLICIES + "{% endset %}"


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"macros/mine.sql": config_macro(POLICIES, "secure_datasets_config")},
         "the macro 'secure_datasets_config' of the project 'acme' " + TAKEN),
        ({"macros/mine.sql": config_macro(POLICIES, "other__secure_datasets_config")},
         "the macro 'other__secure_datasets_config' of the project 'acme' " + TAKEN),
        ({CONFIG: config_macro(BLOCK)}, NO_TEXT),
        ({CONFIG: config_macro(BLOCK + "{{ return(fromyaml(document)) }}")}, NO_TEXT),
        ({CONFIG: config_macro(
            BLOCK + "{{ return(adapter.secure_datasets().read(document, context)) }}"
         )}, NO_TEXT),
        ({CONFIG: config_macro("")}, NO_TEXT),
    ],
    ids=["plain", "other", "a block", "a mapping", "read", "nothing"],
)  # fmt: skip
def test_a_config_that_would_not_be_read_stops(files, sentence, customer):
    # A new macro alone is no reason for dbt to parse a model again.
    message = customer.stops(files, "--no-partial-parse")
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
    ("policies:\n    - {role: A, resource: jobs} {# why #}\n",
     "the config: has a Jinja comment", 3),
    ("policies:\n    - role: A\n      role: B\n",
     "policy 1: the key 'role' is there twice", 4),
]  # fmt: skip


@pytest.mark.parametrize(("document", "sentence", "line"), WRONG)
def test_a_mistake_is_told_with_the_line_of_the_projects_own_file(
    document, sentence, line, customer
):
    message = customer.stops({CONFIG: config_macro(document)})
    assert sentence in message
    assert f"(line {line} of macros/secure_datasets_config.sql)." in message


def test_a_mistake_in_the_products_document_is_told_with_its_package(customer):
    # The columns are the product's, the base is the project's.
    document = "datasets:\n    jobs: {base: vw_dataset_tables}\n"
    message = customer.stops({CONFIG: config_macro(document)})
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
        "{{ config(materialized='view') }}"
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
    result = customer.parse(REPORTS)
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


def test_a_dataset_that_is_switched_on_again_is_never_missing(customer):
    assert customer.parse({CONFIG: config_macro("datasets: {tests: false}\n")}).success
    (customer.path / CONFIG).write_text(NOTHING)
    result = customer.dbt(*COMPILE, "--select", "vw_secure_dataset_jobs")
    assert not result.success
    message = str(result.exception)
    assert "vw_secure_dataset_tests' which is disabled" in message or (
        "dataset 'tests': its model is disabled, and the config offers it" in message
    )


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
