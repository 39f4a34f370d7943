"""With dbt-databricks all is compiled as with secure_spark, and nothing is run.

The environment is that of `examples/databricks`. Nothing here reaches Databricks.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from projects import ROOT, SAMPLE, copy_project

pytestmark = pytest.mark.deployment

EXAMPLE = ROOT / "examples/databricks"
GOLDEN = ROOT / "tests/golden/models"
CATALOG = "lake"
# An address that nobody has.
NOBODY = {"DATABRICKS_HOST": "workspace.invalid"}
SPARK = {"type": "secure_spark", "method": "session"}
ROOTS = ("product", "tarn_valley_bank", "empty_customer")
NOT_OFFERED = "Publishing on Databricks was never tried and is not offered"
# These name the catalog of what is stored as an object on which rights are granted.
NAMES_CATALOG = (
    *("permitted_operations", "privilege_findings"),
    "assert_grants_are_what_the_matrix_asks",
)
Dbt = Callable[..., subprocess.CompletedProcess]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    """Root projects: the product, and two that install it."""
    product = copy_project(tmp_path_factory.mktemp("databricks") / "product")
    customer = product.with_name("customer")
    customer.mkdir()
    settings = {
        "name": "customer",
        "profile": "customer",
        "vars": {"raw_schema": "replica"},
    }
    (customer / "dbt_project.yml").write_text(yaml.safe_dump(settings))
    packages = {"packages": [{"local": str(product)}]}
    (customer / "packages.yml").write_text(yaml.safe_dump(packages))
    return dict(zip(ROOTS, (product, product / SAMPLE, customer), strict=True))


@pytest.fixture(scope="module")
def dbt(folders) -> Dbt:
    """Call the example's dbt on a root project, which gets the example's profile."""
    text = (EXAMPLE / "profiles.yml.example").read_text()
    example = yaml.safe_load(text)["secure_datasets"]
    output = example["outputs"]["databricks"] | {"catalog": CATALOG}
    outputs = {
        "databricks": output,
        "of_dbt": output | {"type": "databricks"},
        "spark": SPARK | {"schema": output["schema"]},
    }
    for folder in folders.values():
        name = yaml.safe_load((folder / "dbt_project.yml").read_text())["profile"]
        profile = {name: {"target": "databricks", "outputs": outputs}}
        (folder / "profiles.yml").write_text(yaml.safe_dump(profile))

    def call(root: str, *arguments: str, target: str = "databricks"):
        folder = folders[root]
        return subprocess.run(
            [
                *(EXAMPLE / ".venv/bin/dbt", "--no-use-colors", "--quiet", *arguments),
                *("--target", target, "--target-path", folder / "target" / target),
            ],
            cwd=folder,
            env=os.environ | NOBODY,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    for root in ROOTS[1:]:
        done = subprocess.run(
            [EXAMPLE / ".venv/bin/dbt", "--quiet", "deps"],
            cwd=folders[root],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout
    return call


@pytest.fixture(scope="module", params=ROOTS)
def compiled(request, folders, dbt) -> tuple[str, dict[str, dict[Path, str]]]:
    """Compile all of a root project for both types: the texts, by target and file."""
    texts = {}
    for target in ("databricks", "spark"):
        command = ("compile", "--no-populate-cache", "--no-introspect")
        done = dbt(request.param, *command, target=target)
        assert done.returncode == 0, done.stdout
        folder = folders[request.param] / "target" / target
        nodes = json.loads((folder / "manifest.json").read_text())["nodes"].values()
        kinds = ("model", "analysis", "test")
        # dbt keeps the tests of a model that is not enabled.
        asked = [
            node
            for node in nodes
            if node["resource_type"] in kinds and node["config"]["enabled"]
        ]
        assert {node["resource_type"] for node in asked} == set(kinds)
        assert [node["name"] for node in asked if not node.get("compiled")] == []
        texts[target] = {
            path.relative_to(folder): path.read_text()
            for path in (folder / "compiled").rglob("*")
            if path.is_file()
        }
    return request.param, texts


def without_catalog(path: Path, text: str) -> str:
    """Return a compiled text with what stands for the catalog where none is known."""
    if path.suffix == ".py":
        return text.replace(f'database = "{CATALOG}"', 'database = "None"')
    if path.stem in NAMES_CATALOG:
        return text.replace(f"'{CATALOG}'", "'spark_catalog'")
    return text


def test_all_is_compiled_to_what_secure_spark_compiles(compiled):
    _, texts = compiled
    databricks, spark = texts["databricks"], texts["spark"]
    assert databricks.keys() == spark.keys()
    others = [
        str(path)
        for path, text in databricks.items()
        if without_catalog(path, text) != spark[path]
    ]
    assert others == []


def test_the_secure_datasets_are_the_golden_ones(compiled):
    root, texts = compiled
    files = {
        path.stem: text.strip("\n") + "\n"
        for path, text in texts["databricks"].items()
        if path.suffix == ".sql" and (GOLDEN / path.name).exists()
    }
    if root == "tarn_valley_bank":
        assert files == {file.stem: file.read_text() for file in GOLDEN.iterdir()}
    else:
        # Without the bank's policies, and read from elsewhere.
        assert len([name for name in files if name.startswith("vw_secure_")]) == 9


@pytest.mark.parametrize("command", ["build", "run", "seed", "test", "compile"])
def test_what_would_ask_databricks_stops_before_it_builds(dbt, command):
    done = dbt("product", command)
    assert done.returncode == 2
    assert NOT_OFFERED in done.stdout
    # One sentence, and no node that was begun.
    assert len(done.stdout.splitlines()) == 3


@pytest.mark.parametrize(
    "command",
    [
        ("parse",),
        ("docs", "generate", "--empty-catalog", "--no-compile"),
        ("run-operation", "print_predicate", "--args", "{dataset: tables}"),
    ],
)
def test_what_asks_nothing_works(dbt, command):
    done = dbt("empty_customer", *command)
    assert done.returncode == 0, done.stdout


def test_dbt_ls_lists_every_secure_dataset(dbt):
    select = ("--select", "tag:secure", "--resource-type", "model", "--output", "name")
    done = dbt("empty_customer", "ls", *select)
    assert done.returncode == 0, done.stdout
    assert len(done.stdout.split()) == 9


def test_under_dbt_databricks_own_type_dbt_stops_with_a_sentence(dbt):
    done = dbt("empty_customer", "parse", target="of_dbt")
    assert done.returncode == 2
    assert "is of type databricks, under which the secure datasets" in done.stdout


def test_a_model_in_another_catalog_stops_with_a_sentence(dbt, folders):
    customer = folders["empty_customer"]
    text = (customer / "dbt_project.yml").read_text()
    settings = yaml.safe_load(text)
    settings["models"] = {"secure_datasets": {"secure": {"+database": "swamp"}}}
    (customer / "dbt_project.yml").write_text(yaml.safe_dump(settings))
    try:
        done = dbt("empty_customer", "parse")
    finally:
        (customer / "dbt_project.yml").write_text(text)
    assert done.returncode == 2
    assert f"is in the catalog swamp, and the profile's is {CATALOG}" in done.stdout
