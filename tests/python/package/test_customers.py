"""Root projects that install the product as a package, and the product without any."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
import yaml
from comparison import described
from compiled import WITH_TESTS, compiled, models_of
from oracle.contract import evaluate, read_world
from own_config import PRODUCTS, document_of, together
from projects import ROOT, SAMPLE, install_product
from quick import LAYER, RAW, QuickProject, differences, seed_rows
from sample import MAY_WARN, REFUSED
from why_sandbox import translated

from secure_datasets.engines.duckdb import NotExact

REPLICA = "replica_of_a_customer"
EMPTY = "empty_customer"
NINE = yaml.safe_load(document_of(PRODUCTS))["datasets"]
# What the product leaves empty, for those who install it.
OF_CUSTOMERS = (
    *("leak_exceptions", "view_decisions"),
    *("privilege_grants", "role_hierarchy", "role_operations"),
    *("access_change_limits", "access_change_approvals"),
    *("expected_access", "finding_exceptions", "toxic_pairs", "review_decisions"),
)


@pytest.fixture(scope="module")
def empty(product, tmp_path_factory) -> Path:
    """A customer with nothing of its own: the package, a profile, the raw tables."""
    folder = tmp_path_factory.mktemp("empty") / "project"
    folder.mkdir()
    package = yaml.safe_dump({"packages": [{"local": str(product)}]})
    (folder / "packages.yml").write_text(package)
    settings = {"name": EMPTY, "profile": EMPTY, "vars": {"raw_schema": REPLICA}}
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(settings))
    return install_product(product, folder, EMPTY)


def names(nodes, *types: str) -> set[str]:
    """Return the names of nodes of these types."""
    return {node.name for node in nodes.values() if node.resource_type in types}


@pytest.fixture(scope="module")
def empty_parsed(empty, dbt):
    """The empty customer, parsed once, with warnings as errors: dbt's manifest."""
    options = ("--quiet", "--no-partial-parse", "--no-write-json")
    result = dbt("--warn-error", "parse", *options, folder=empty)
    assert result.success, result.exception
    return result.result


def test_an_empty_customer_has_the_product_and_no_sample(empty_parsed):
    nodes = empty_parsed.nodes
    assert names(nodes, "seed") == {
        *OF_CUSTOMERS,
        *("role_permissions", "privilege_requirements"),
    }
    assert {node.package_name for node in nodes.values()} == {"secure_datasets"}
    secure = {n for n in names(nodes, "model") if n.startswith("vw_secure_dataset_")}
    assert secure == {f"vw_secure_dataset_{name}" for name in NINE}
    texts = " ".join(str(node.to_dict()) for node in nodes.values())
    assert "arn Valley" not in texts
    (source,) = {source.schema for source in empty_parsed.sources.values()}
    assert source == REPLICA


@pytest.fixture(scope="module")
def engine(empty, empty_parsed):
    """What the empty customer builds of the sample's raw rows, in the quick engine."""
    target = empty / "target" / "quick"
    manifest = compiled(empty, target, WITH_TESTS, empty_parsed)

    def in_place(sql: str | None) -> str | None:
        of_engine = sql and sql.replace(f"{REPLICA}.", f"{RAW}.")
        return of_engine and of_engine.replace(f"{EMPTY}.", f"{LAYER}.")

    models = [
        replace(model, sql=in_place(model.sql), relation=in_place(model.relation))
        for model in models_of(empty, manifest)
    ]
    quick = QuickProject(models, seeds=seed_rows((ROOT / "seeds",)))
    tests = {
        node["name"]: in_place(node["compiled_code"])
        for node in manifest["nodes"].values()
        if node["resource_type"] == "test" and "compiled_code" in node
    }
    world = read_world(ROOT / "seeds/repository")
    return quick.run(world), tests


def test_an_empty_customer_has_what_the_contract_says_and_finds_nothing(engine):
    built, _ = engine
    expected = evaluate(read_world(ROOT / "seeds/repository"))
    found = differences(built, expected)
    assert not found, described(found)
    for finding in ("leaks", "privilege_findings", "view_outcomes"):
        assert built.ask(f"select * from {LAYER}.{finding}") == []


def test_every_test_passes_in_an_empty_customer(engine):
    built, tests = engine
    found, refused = set(), set()
    for name, query in tests.items():
        try:
            if built.ask(query):
                found.add(name)
        except NotExact:
            refused.add(name)
    assert found <= MAY_WARN
    # Spark runs these with the sample.
    assert refused == REFUSED
    assert len(tests) > 200


def test_the_product_says_of_a_customer_s_seed_what_it_says_of_its_own(parsed):
    seeds = {
        node.name: node
        for node in parsed.nodes.values()
        if node.resource_type == "seed" and node.package_name == "tarn_valley_bank"
    }
    assert set(seeds) >= set(OF_CUSTOMERS)
    tests = [node for node in parsed.nodes.values() if node.resource_type == "test"]
    tested = {parent for test in tests for parent in test.depends_on_nodes}
    # A decision is judged by a model, and the test is of what that says.
    judged = parsed.nodes["model.secure_datasets.judged_decisions"]
    tested |= set(judged.depends_on_nodes) if judged.unique_id in tested else set()
    for name in OF_CUSTOMERS:
        assert seeds[name].description, name
        assert seeds[name].unique_id in tested, name
    assert seeds["view_decisions"].config.column_types == {"user_id": "bigint"}
    assert seeds["view_decisions"].config.get("reads_latest") is True
    assert seeds["leak_exceptions"].config.column_types == {"expires_on": "date"}
    assert seeds["role_hierarchy"].config.column_types == {"is_secondary": "boolean"}


@pytest.mark.parametrize(
    "name",
    [
        "access_freshness",
        "assert_access_is_resolved_from_the_newest_deliveries",
        "assert_audit_agrees_with_access",
        "objects_per_tier",
    ],
)
def test_a_customer_s_tier_is_looked_at_like_the_product_s(parsed, name):
    (node,) = (node for node in parsed.nodes.values() if node.name == name)
    read = {parent.split(".")[-1] for parent in node.depends_on_nodes}
    tiers = together()["tiers"]
    assert "reports" in tiers
    right_on_one_object = {
        tier["access_view"]
        for tier in tiers.values()
        if name != "assert_audit_agrees_with_access" or "key" not in tier["right"]
    }
    assert right_on_one_object <= read


def test_what_row_security_maps_by_is_as_old_as_access_may_be(parsed):
    name = "assert_access_is_resolved_from_the_newest_deliveries"
    (node,) = (node for node in parsed.nodes.values() if node.name == name)
    read = {parent.split(".")[-1] for parent in node.depends_on_nodes}
    mapped = {security["dataset"] for security in together()["row_security"]}
    assert mapped and mapped <= read


def test_a_customer_who_names_no_raw_schema_is_told_so(empty, dbt, tmp_path, product):
    customer = tmp_path / "project"
    shutil.copytree(empty, customer, symlinks=True)
    settings = {"name": EMPTY, "profile": EMPTY}
    (customer / "dbt_project.yml").write_text(yaml.safe_dump(settings))
    result = dbt("--quiet", "parse", folder=customer)
    assert not result.success
    assert (
        "raw_schema is 'repository_sample', where this project has no raw tables: name"
        " the schema of the replica, `vars: {raw_schema: ...}` in dbt_project.yml, or"
        " load the sample there, `loads_sample: true`."
    ) in " ".join(str(result.exception).split())


def test_a_customer_s_own_table_of_roles_takes_the_place_of_the_product_s(
    empty, dbt, tmp_path
):
    customer = tmp_path / "project"
    shutil.copytree(empty, customer, symlinks=True)
    settings = yaml.safe_load((customer / "dbt_project.yml").read_text())
    off = {"role_permissions": {"+enabled": False}}
    settings |= {"seeds": {"secure_datasets": off}}
    (customer / "dbt_project.yml").write_text(yaml.safe_dump(settings))
    (customer / "seeds").mkdir()
    own = (ROOT / "seeds/role_permissions.csv").read_text()
    own += "Data Source,Steward,View Metadata\n"
    (customer / "seeds/role_permissions.csv").write_text(own)
    result = dbt("--quiet", "parse", "--no-partial-parse", folder=customer)
    assert result.success, result.exception
    nodes = result.result.nodes
    (seed,) = (node for node in nodes.values() if node.name == "role_permissions")
    assert seed.package_name == EMPTY
    # What the product says of its own holds: the description, the tests.
    assert seed.description.startswith("One row per object type, role and permission")
    readers = {
        node.name for node in nodes.values() if seed.unique_id in node.depends_on_nodes
    }
    assert {"stg_project_permissions", "int_access_paths"} <= readers
    assert any("unique_rows_role" in name for name in readers), readers
    # Roles are held against it wherever staging has one, and by no list beside it.
    tests = [
        node
        for node in nodes.values()
        if getattr(node, "column_name", None) == "role_name"
    ]
    by_table = {
        node.attached_node: node
        for node in tests
        if seed.unique_id in node.depends_on_nodes
    }
    assert {name.split(".")[-1] for name in by_table} >= {
        *("stg_user_global_roles", "stg_data_source_permissions"),
        *("stg_project_permissions", "stg_report_permissions"),
    }
    assert "accepted_values" not in {node.test_metadata.name for node in tests}
    options = ("--quiet", "--no-populate-cache", "--no-introspect")
    selected = "test_name:role_is_known"
    compiled = dbt("compile", *options, "--select", selected, folder=customer)
    assert compiled.success, compiled.exception
    database = duckdb.connect()
    database.execute(f"create schema {EMPTY}")
    path = customer / "seeds/role_permissions.csv"
    database.execute(f"create table {EMPTY}.role_permissions as from '{path}'")
    held = {"stg_data_source_permissions": ["Steward", "Viewer", None, "Admin"]}
    found = {}
    for result in compiled.result:
        table = result.node.attached_node.split(".")[-1]
        database.execute(f"create table {EMPTY}.{table} (role_name varchar)")
        for role in held.get(table, []):
            database.execute(f"insert into {EMPTY}.{table} values (?)", [role])
        query = translated(result.node.compiled_code)
        found[table] = database.execute(query).fetchall()
    # A role of the customer's is known, and one of another type of object is not.
    assert found.pop("stg_data_source_permissions") == [("Admin", 1)]
    assert list(found.values()) == [[], [], []]


def test_two_seeds_of_one_name_stop_dbt(empty, dbt, tmp_path):
    customer = tmp_path / "project"
    shutil.copytree(empty, customer, symlinks=True)
    (customer / "seeds").mkdir()
    (customer / "seeds/leak_exceptions.csv").write_text("model_name\n")
    result = dbt("--quiet", "parse", folder=customer)
    assert not result.success
    assert "two resources with the database representation" in str(result.exception)


def test_the_sample_s_profile_is_the_product_s_with_a_schema_of_its_own():
    def local(folder: Path, name: str) -> dict:
        text = (folder / "profiles.yml.example").read_text()
        return yaml.safe_load(text)[name]["outputs"]["local"]

    products = local(ROOT, "secure_datasets")
    samples = local(ROOT / SAMPLE, "tarn_valley_bank")
    assert samples.pop("schema") == "tarn_valley_bank"
    del products["schema"]
    options = "spark.driver.extraJavaOptions"
    of_package = "PROJECT_FOLDER/dbt_packages/secure_datasets/conf/"
    own = samples["server_side_parameters"][options]
    samples["server_side_parameters"][options] = own.replace(
        of_package, "PROJECT_FOLDER/conf/"
    )
    assert samples == products


def test_nobody_but_the_sample_and_its_tests_knows_the_bank():
    known = {"examples", "tests"}
    # The raw sample's page tells of its people, and what builds or shows it names it.
    allowed = {
        *("docs/sample-organisation.md", "docs/reading.md", "README.md"),
        *("docs/building-on-it-reference.md", "docs/testing-policies.md"),
        *("CHANGELOG.md", "CONTRIBUTING.md", "Makefile", ".pre-commit-config.yaml"),
        "docs/why.md",
        *(".sqlfluffignore", "docs/row-security.md", "docs/policies.md"),
    }
    found = {
        path.relative_to(ROOT).as_posix()
        for folder in ("models", "macros", "seeds", "analyses", "src", "docs", ".")
        for path in (ROOT.glob("*") if folder == "." else (ROOT / folder).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
        # What pip leaves beside what it installs to be edited, the README in it.
        if path.parent.suffix != ".egg-info"
        if re.search(r"tarn.valley", path.read_text(errors="ignore"), re.I)
    }
    assert {p for p in found if p.split("/")[0] not in known} <= allowed
