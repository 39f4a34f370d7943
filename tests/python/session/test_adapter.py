"""The adapter from outside: other root projects, other types, other versions."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from io import StringIO
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import yaml
from dbt.adapters.base import AdapterPlugin
from dbt.adapters.factory import FACTORY
from dbt.adapters.secure_spark import impl
from dbt.adapters.secure_spark.__version__ import version
from dbt.adapters.secure_spark.connections import SecureSparkConnectionManager
from dbt.adapters.spark import (
    SparkAdapter,
    SparkConnectionManager,
    SparkCredentials,
)
from dbt.adapters.spark.impl import SparkConfig
from dbt.adapters.spark.relation import SparkRelation
from dbt.deprecations import reset_deprecations
from dbt.node_types import RunHookType
from dbt.task.run import RunTask
from dbt_common.exceptions import DbtRuntimeError
from projects import ROOT, copy_project, install_product, local_output

HOOKS = {"on-run-start": "{{ begin_run() }}", "on-run-end": "{{ end_run(results) }}"}
# What a root project may write into a model of its own: dbt meets it first.
CALLS = {
    "secure": "{{ secure_datasets.secure_dataset('tables') }}",
    "checked": "{{ secure_datasets.checked_rows('jobs', 'A', 'b') }}",
    "text": "select {{ secure_datasets.sql_text('a') }} as a",
    "config": "{% do secure_datasets.secure_datasets_config() %} select 1 as a",
    "nothing": "select 1 as a",
}


def root_project(folder: Path, product: Path, schema: str, **settings: object) -> Path:
    """Make a root project of another name, with the session of the product's copy."""
    settings = {
        "name": "customer",
        "version": "1.0.0",
        "profile": "customer",
        "flags": {"send_anonymous_usage_stats": False},
        **settings,
    }
    for name in ("models", "seeds"):
        (folder / name).mkdir(parents=True)
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
    output = local_output(product) | {"schema": schema}
    write_profile(folder, "customer", output)
    return folder


def write_profile(folder: Path, name: str, output: dict) -> None:
    """Write a project's profile, of one output."""
    profile = {name: {"target": "local", "outputs": {"local": output}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile, sort_keys=False))


@pytest.fixture
def customer(product, tmp_path) -> Path:
    """A root project that installs the product as a package."""
    settings = {
        "vars": {"raw_schema": "replica"},
        "on-run-start": "select 'first'",
        "on-run-end": "select 'last'",
    }
    folder = root_project(tmp_path / "customer", product, "customer", **settings)
    packages = {"packages": [{"local": str(product)}]}
    (folder / "packages.yml").write_text(yaml.safe_dump(packages))
    return install_product(product, folder, "customer")


@pytest.fixture
def databricks(tmp_path, monkeypatch) -> Iterator[None]:
    """Stands for dbt-databricks: an adapter of that type, on dbt-spark."""

    @dataclass
    class Credentials(SparkCredentials):
        @property
        def type(self) -> str:
            return "databricks"

    class ConnectionManager(SparkConnectionManager):
        TYPE = "databricks"

    class Adapter(SparkAdapter):
        pass

    Adapter.ConnectionManager = ConnectionManager
    include = tmp_path / "databricks"
    include.mkdir()
    (include / "dbt_project.yml").write_text("name: dbt_databricks\nversion: '1.0'\n")
    plugin = AdapterPlugin(Adapter, Credentials, str(include), dependencies=["spark"])
    modules = {
        "": {"Plugin": plugin},
        ".__version__": {"version": "1.0.0"},
        ".connections": {"DatabricksConnectionManager": ConnectionManager},
        ".credentials": {"DatabricksCredentials": Credentials},
        ".impl": {"DatabricksAdapter": Adapter, "DatabricksConfig": SparkConfig},
        ".relation": {"DatabricksRelation": SparkRelation},
    }
    for name, values in modules.items():
        module = ModuleType(f"dbt.adapters.databricks{name}")
        vars(module).update(values)
        monkeypatch.setitem(sys.modules, module.__name__, module)
    yield
    forget_adapters()
    # Of this type dbt warns of keys that only adapters know, once a process.
    reset_deprecations()


def forget_adapters() -> None:
    """Forget what was imported, and loaded by dbt, over the stand-in."""
    ours = "dbt.adapters.secure_databricks"
    for name in [name for name in sys.modules if name.startswith(ours)]:
        del sys.modules[name]
    for kind in ("databricks", "secure_databricks"):
        FACTORY.plugins.pop(kind, None)


# ---------------------------------------------------------------------------
# Another type, another version
# ---------------------------------------------------------------------------


def of_type(folder: Path, name: str, profile: str) -> None:
    """Give the output of a project's profile another type."""
    output = local_output(folder) | {"type": name, "host": "unused"}
    write_profile(folder, profile, output)


def told_of(name: str) -> str:
    """Return the sentence about a type."""
    return (
        f"The output 'local' of the profile is of type {name}, under which the secure"
        " datasets would not be published together with their rights: write type:"
        " secure_spark, which takes the methods of dbt-spark (docs/deployments.md)."
    )


@pytest.mark.usefixtures("databricks")
@pytest.mark.parametrize("name", ["spark", "databricks"])
def test_under_another_type_dbt_stops_with_a_sentence(dbt, tmp_path, name):
    folder = copy_project(tmp_path / "project")
    of_type(folder, name, "secure_datasets")
    result = dbt("parse", "--quiet", folder=folder)
    assert not result.success
    assert told_of(name) in str(result.exception)


def test_what_dbt_asks_first_asks_for_the_adapter(parsed):
    # While it parses, for the package's schemas; else for its hooks.
    hooks = (
        parsed.macros[called]
        for node in sorted(parsed.nodes.values(), key=lambda node: node.unique_id)
        if node.unique_id.startswith("operation.secure_datasets.")
        and "on-run-start" in node.tags
        for called in node.depends_on.macros
    )
    asks = next(macro for macro in hooks if "adapter." in macro.macro_sql)
    for name in (asks.name, "generate_schema_name"):
        asked = parsed.macros[f"macro.secure_datasets.{name}"].depends_on.macros
        assert asked[0] == "macro.secure_datasets.check_adapter"


@pytest.mark.parametrize("call", CALLS)
def test_a_root_project_of_another_type_is_told_the_same(customer, dbt, call):
    of_type(customer, "spark", "customer")
    (customer / "models/a.sql").write_text(CALLS[call])
    result = dbt("parse", "--quiet", folder=customer)
    assert not result.success
    assert told_of("spark") in str(result.exception)


def test_an_adapter_of_another_version_is_told_how_to_be_installed(
    customer, dbt, product, monkeypatch
):
    monkeypatch.setattr(impl, "version", "0.1.9")
    result = dbt("parse", "--quiet", folder=customer)
    assert not result.success
    package = customer / "dbt_packages/secure_datasets"
    assert package.resolve() == product
    assert (
        f"The dbt package secure_datasets is of version {version} and the adapter"
        " secure_spark, its Python part, of version 0.1.9: install the one that comes"
        f" with the package, pip install '{package}'."
    ) in str(result.exception)


def test_package_and_adapter_are_of_one_version():
    settings = yaml.safe_load((ROOT / "dbt_project.yml").read_text())
    assert settings["version"] == version


@pytest.mark.nightly
def test_a_root_project_s_own_hooks_run_before_those_of_the_package(customer, dbt):
    # At the end they still hold the run's lock.
    result = dbt("parse", "--quiet", folder=customer)
    assert result.success, result.exception
    config = SimpleNamespace(project_name="customer")
    task = SimpleNamespace(manifest=result.result, config=config)
    task._hook_keyfunc = partial(RunTask._hook_keyfunc, task)
    for when, own, of_package in (
        (RunHookType.Start, "select 'first'", "begin_run()"),
        (RunHookType.End, "select 'last'", "end_run(results)"),
    ):
        first, *others = [
            hook.raw_code for hook in RunTask.get_hooks_by_type(task, when)
        ]
        assert first == own
        assert any(of_package in hook for hook in others)


# ---------------------------------------------------------------------------
# Beside dbt-databricks
# ---------------------------------------------------------------------------

BESIDE = "secure_databricks"
BUILDING = ("run", "build", "seed", "test", "docs generate", "run --no-populate-cache")


@pytest.mark.nightly
@pytest.mark.usefixtures("databricks")
def test_beside_dbt_databricks_all_parses_and_nothing_is_sent_there(dbt, tmp_path):
    folder = copy_project(tmp_path / "project")
    of_type(folder, BESIDE, "secure_datasets")
    parsed = dbt("parse", "--quiet", folder=folder)
    assert parsed.success, parsed.exception
    manifest = parsed.result
    assert manifest.metadata.adapter_type == BESIDE
    names = {node.relation_name for node in manifest.nodes.values()}
    assert "secure_datasets.vw_secure_dataset_tables" in names
    # `as_of` and the spelling of names are of the adapter's own macro.
    macro = "macro.dbt_secure_spark.secure_spark__generate_schema_name"
    called = manifest.macros[macro.replace("spark__", "databricks__")].depends_on.macros
    assert called == [macro]
    from dbt.adapters.secure_databricks.connections import NOT_OFFERED

    for command in BUILDING:
        arguments = (*command.split(), "--quiet", "--no-write-json")
        result = dbt(*arguments, folder=folder, manifest=manifest)
        assert not result.success, command
        assert NOT_OFFERED in str(result.exception), command
    assert not list((folder / ".spark").iterdir())


@pytest.mark.usefixtures("databricks")
def test_what_needs_no_connection_sends_nothing_to_databricks_either():
    from dbt.adapters.secure_databricks.impl import NotOffered, SecureDatabricksAdapter

    adapter = object.__new__(SecureDatabricksAdapter)
    for method, arguments in (
        ("submit_python_job", ({}, "the code")),
        ("debug_query", ()),
    ):
        with pytest.raises(NotOffered, match=r"opens no connection"):
            getattr(adapter, method)(*arguments)


@pytest.mark.usefixtures("databricks")
def test_what_is_in_another_catalog_than_the_profile_s_stops_with_a_sentence():
    from dbt.adapters.secure_databricks.relation import SecureDatabricksRelation

    def name(catalog: str) -> str:
        config = SimpleNamespace(
            credentials=SimpleNamespace(database="lake"), quoting={}
        )
        node = SimpleNamespace(
            database=catalog, schema="replica", identifier="users", quoting_dict={}
        )
        node.catalog_name = None
        return str(SecureDatabricksRelation.create_from(config, node))

    with pytest.raises(DbtRuntimeError) as told:
        name("swamp")
    assert (
        "replica.users is in the catalog swamp, and the profile's is lake: type:"
        " secure_databricks writes names without their catalog, so that all must be in"
        " that of the profile (docs/deployments.md)."
    ) in str(told.value)


def test_without_dbt_databricks_its_type_says_what_to_install(
    dbt, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "dbt.adapters.databricks", None)
    folder = copy_project(tmp_path / "project")
    of_type(folder, BESIDE, "secure_datasets")
    result = dbt("parse", "--quiet", folder=folder)
    assert not result.success
    assert (
        "type: secure_databricks needs dbt-databricks beside this project's Python"
        " part: pip install 'secure-datasets[databricks] @ <its path or Git address>'"
        " (docs/deployments.md)."
    ) in str(result.exception)


# ---------------------------------------------------------------------------
# Installing
# ---------------------------------------------------------------------------


def test_what_is_installed_is_all_of_the_python_part(tmp_path):
    copy = copy_project(tmp_path / "project")
    options = ("--no-deps", "--no-build-isolation", "--quiet", "--no-index")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, "-w", tmp_path, copy],
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith(f"secure_datasets-{version}-")
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    kept = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src").rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and ".egg-info" not in path.parts[-2]
    }
    # What a wheel says of the dbt package beside it is written while it is built.
    assert packed == kept | {"secure_datasets/package_digest.txt"}
    # Beside dbt's own they would take the place of its packages.
    assert not packed & {
        f"dbt/{part}__init__.py" for part in ("", "adapters/", "include/")
    }


def test_what_dbt_shows_is_printed_whole():
    columns = [f"column_{number}" for number in range(8)]
    name, score = "Every account of a holder has a holder", Decimal("1.23456")
    cursor = SimpleNamespace(
        description=[(column,) for column in columns],
        fetchall=lambda: [(name, score, *range(6))],
    )
    table = SecureSparkConnectionManager.get_result_from_cursor(cursor, None)
    output = StringIO()
    table.print_table(output=output, max_rows=None)
    header, _, row = output.getvalue().splitlines()
    cells = [cell.strip() for cell in row.strip("| ").split("|")]
    assert cells == [name, "1.23456", *map(str, range(6))]
    assert [cell.strip() for cell in header.strip("| ").split("|")] == columns


# ---------------------------------------------------------------------------
# A project without this package
# ---------------------------------------------------------------------------


@pytest.mark.spark
def test_an_ordinary_project_needs_the_adapter_and_two_hooks(
    spark, dbt, product, tmp_path
):
    folder = root_project(tmp_path / "project", product, "ordinary", **HOOKS)
    (folder / "seeds/words.csv").write_text('id,word\n1,null\n2,"it\'s"\n3,\n')
    (folder / "models/lengths.py").write_text(
        "def model(dbt, session):\n"
        "    dbt.config(materialized='published_view')\n"
        "    words = dbt.ref('words')\n"
        "    return words.selectExpr('id', 'length(word) as letters')\n"
    )
    (folder / "models/long.sql").write_text(
        "{{ config(materialized='published_view') }}\n"
        "select id from {{ ref('lengths') }} where letters > 3"
    )
    (folder / "models/seen.sql").write_text(
        "{{ config(materialized='view') }}\n"
        "select words.id, words.word, long.id is not null as is_long\n"
        "from {{ ref('words') }} as words\n"
        "left join {{ ref('long') }} as long on words.id = long.id"
    )
    (folder / "models/stored.sql").write_text(
        "{{ config(materialized='table', file_format='parquet') }}\n"
        "select * from {{ ref('seen') }}"
    )
    for _ in range(2):
        result = dbt("build", "--quiet", folder=folder)
        assert result.success, [each.message for each in result.result or ()]
    expected = {("1", "null", True), ("2", "it's", True), ("3", None, False)}
    for name in ("seen", "stored"):
        assert {tuple(row) for row in spark.table(f"ordinary.{name}").collect()} == (
            expected
        )
    told = spark.sql("describe extended ordinary.seen").collect()
    (text,) = [row.data_type for row in told if row.col_name == "View Text"]
    assert "ordinary_versions.words__v" in text
    assert "ordinary_versions.long__v" in text


@pytest.mark.spark
def test_without_hooks_what_would_be_published_is_told_of_them(
    spark, dbt, product, tmp_path
):
    folder = root_project(tmp_path / "project", product, "without_hooks")
    (folder / "seeds/words.csv").write_text("id\n1\n")
    (folder / "models/seen.sql").write_text(
        "{{ config(materialized='view') }} select id from {{ ref('words') }}"
    )
    for command in (("seed",), ("run",)):
        result = dbt(*command, "--quiet", folder=folder)
        assert not result.success
        (done,) = result.result
        assert "Nothing can be published before begin_run() has run" in done.message
        assert "add it to on-run-start of dbt_project.yml" in done.message
    # The session's temporary views are listed in every schema.
    tables = spark.sql("show tables in without_hooks").collect()
    assert [row.tableName for row in tables if not row.isTemporary] == []
