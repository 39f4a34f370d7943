"""Copies of the product, and root projects that install it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
# The sample: a root project that installs the product and uses every feature.
SAMPLE = "examples/tarn_valley_bank"
# Files that git ignores, or that a test copies itself.
NOT_COPIED = (
    ".git", ".venv*", ".spark", "target", "logs", "profiles.yml", "__pycache__",
    "dbt_packages", "package-lock.yml",
)  # fmt: skip
# Spark starts once for all tests, and the data is small: interpreting costs less than
# generating code, one partition less than two, one plan less than an adapted one.
TEST_SETTINGS = {
    # Plans with hundreds of broadcasts follow earlier tests' plans in one process.
    "spark.driver.memory": "3g",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
# A test's metastore need not survive a power failure: Derby waits for the disk at each
# commit otherwise, which is half of the time of a small run.
TEST_JAVA_OPTION = "-Dderby.system.durability=test"


def tracked_files() -> list[Path]:
    """Return the files that git keeps, or would."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    paths = [ROOT / line for line in done.stdout.splitlines()]
    return [path for path in paths if path.is_file()]


def copy_project(folder: Path) -> Path:
    """Copy the product as a person would clone it, with a profile of its own."""
    shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED))
    example = (ROOT / "profiles.yml.example").read_text()
    profile = yaml.safe_load(example.replace("PROJECT_FOLDER", str(folder)))
    settings = profile["secure_datasets"]["outputs"]["local"]["server_side_parameters"]
    settings.update(TEST_SETTINGS)
    settings["spark.driver.extraJavaOptions"] += f" {TEST_JAVA_OPTION}"
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile, sort_keys=False))
    (folder / ".spark").mkdir()
    return folder


def install_product(product: Path, customer: Path, schema: str) -> Path:
    """Install the product in a root project, with the product's Spark and a schema."""
    from dbt.cli.main import dbtRunner

    name = yaml.safe_load((customer / "dbt_project.yml").read_text())["profile"]
    profile = yaml.safe_load((product / "profiles.yml").read_text())
    output = profile["secure_datasets"]["outputs"]["local"] | {"schema": schema}
    profile = {name: {"target": "local", "outputs": {"local": output}}}
    (customer / "profiles.yml").write_text(yaml.safe_dump(profile, sort_keys=False))
    place = ("--project-dir", str(customer), "--profiles-dir", str(customer))
    result = dbtRunner().invoke(["--quiet", "deps", *place])
    assert result.success, result.exception
    return customer


def copy_of(product: Path, folder: Path) -> Path:
    """Copy the product's copy and its sample for edits, without their builds."""
    ignored = shutil.ignore_patterns(".spark", "target", "logs", "dbt_packages")
    shutil.copytree(product, folder, ignore=ignored)
    install_product(folder, folder / SAMPLE, "secure_datasets")
    return folder


def local_output(project: Path) -> dict:
    """Return the output `local` of a project's profile."""
    (profile,) = yaml.safe_load((project / "profiles.yml").read_text()).values()
    return profile["outputs"]["local"]
