"""The project's models, compiled by dbt without Spark and kept until a file changes."""

from __future__ import annotations

import ast
import fcntl
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from dbt.cli.main import dbtRunner
from oracle.contract import TABLES
from projects import ROOT, SAMPLE, copy_project, install_product, tracked_files

from dbt_spark_session.folders import Folders, with_folders
from dbt_spark_session.queries import replaced

# What a past state reads stands in schemas that are called after its moment.
RELATION = re.compile(
    r"\b(?P<schema>secure_datasets|repository_sample)(_as_of_[0-9_]+)?\.(?P<name>\w+)"
)
# Compiling a Python model asks the metastore whether it exists; it is run as it stands.
SELECTION = ["--select", "resource_type:model", "--exclude", "file:*.py"]
WITH_TESTS = ["--select", "resource_type:model", "resource_type:test", *SELECTION[2:]]
# The seeds of the product, and those that the sample brings, of the same names too.
SEEDS = (ROOT / "seeds", ROOT / SAMPLE / "seeds")
# The moment with which a past state is compiled, to be put off.
COMPILED_AS_OF = datetime(2024, 5, 1)
# Where compiled models are kept, and what decides them besides dbt.
KEPT = ROOT / "target" / "compiled"
MOST_KEPT = 20
DECIDES = (
    *("macros/", "models/", "seeds/", "src/", "examples/tarn_valley_bank/"),
    *("dbt_project.yml", "selectors.yml", "profiles.yml.example"),
    "tests/helpers/compiled.py",
)
# The engine runs what is compiled.
NOT_DECIDES = "src/secure_datasets/engines/"


@dataclass(frozen=True)
class Model:
    """One compiled model: its code, and the names of what it reads."""

    name: str
    sql: str | None
    path: Path
    parents: tuple[str, ...]
    is_view: bool = False

    @property
    def code(self) -> str:
        """What decides the rows: the compiled SQL, or the Python file."""
        return self.path.read_text() if self.sql is None else self.sql


class CompileError(Exception):
    """dbt could not compile the project; the message is dbt's."""


def compile_models(
    project: Path, target: Path, manifest=None, **variables: str
) -> list[Model]:
    """Compile a project without Spark; return its models, parents before children.

    With dbt's manifest of the project, made with the same variables, it is not parsed
    once more.
    """
    return models_of(project, compiled(project, target, SELECTION, manifest, variables))


def compiled(
    project: Path,
    target: Path,
    selection: list[str],
    manifest: Any = None,
    variables: dict[str, str] | None = None,
) -> dict[str, Any]:
    """Compile a project without Spark; return the manifest that dbt writes."""
    arguments = ["--project-dir", str(project), "--profiles-dir", str(project)]
    arguments += ["--target-path", str(target), "--quiet"]
    options = [
        "--no-populate-cache",
        "--no-introspect",
        "--indirect-selection",
        "empty",
        "--vars",
        json.dumps(variables or {}),
    ]
    result = dbtRunner(manifest=manifest).invoke(
        ["compile", *options, *selection, *arguments]
    )
    if not result.success:
        failed = [
            f"{r.node.name}: {r.message}"
            for r in result.result or []
            if r.status != "success"
        ]
        raise CompileError(str(result.exception or "\n".join(failed)))
    return json.loads((target / "manifest.json").read_text())


def models_of(project: Path, manifest: dict[str, Any]) -> list[Model]:
    """Return the models of a manifest, parents before children."""
    nodes, root = manifest["nodes"], manifest["metadata"]["project_name"]
    waiting = {
        node["name"]: Model(
            name=node["name"],
            sql=node.get("compiled_code") if node["language"] == "sql" else None,
            path=_folder_of(project, root, node) / node["original_file_path"],
            parents=tuple(map(name_of_parent, node["depends_on"]["nodes"])),
            is_view=node["config"]["materialized"] == "view",
        )
        for node in nodes.values()
        if node["resource_type"] == "model"
    }
    ordered = []
    while waiting:
        ready = [
            name
            for name, model in waiting.items()
            if not any(parent in waiting for parent in model.parents)
        ]
        ordered += [waiting.pop(name) for name in ready]
    return ordered


def as_of(models: list[Model], moment: datetime) -> list[Model]:
    """Return models that were compiled as of `COMPILED_AS_OF`, as of another moment.

    To compile the project for each moment would take longer than to run it.
    """
    found = [f"timestamp '{each}Z'" for each in (COMPILED_AS_OF, moment)]
    return [
        replace(model, sql=model.sql and model.sql.replace(*found)) for model in models
    ]


def laid_out(models: list[Model], ansi: str) -> list[Model]:
    """Return models with their bases in folders in one of the modes, as versions lie.

    So both layouts are compared. The folders stand in the query that reads a base.
    """
    if ansi == "false":
        return models
    for base in models:
        if not base.name.startswith("vw_dataset_"):
            continue
        key = re.search(r"config\(\s*cluster_by=\['(\w+)'", base.path.read_text())
        cases = re.search(r"folders_by=(\{[^}]*\})", base.path.read_text())
        by_value = ast.literal_eval(cases[1]) if cases else {}
        if not key or not (cases or key[1].endswith("_id")):
            continue
        relation = f"secure_datasets.{base.name}"
        folders = Folders(key[1], 3, tuple(by_value.items()))
        rows = f"(select *, {folders.of_row} as `{folders.column}` from {relation})"
        models = [
            replace(
                model,
                sql=replaced(
                    with_folders(model.name, model.sql, relation, relation, folders),
                    relation,
                    rows,
                ),
            )
            if base.name in model.parents and model.name.startswith("vw_secure_")
            else model
            for model in models
        ]
    return models


def _folder_of(project: Path, root: str, node: dict) -> Path:
    """Return the folder of a node's project: the root project, or one it installs."""
    package = node["package_name"]
    return project if package == root else project / "dbt_packages" / package


def name_of_parent(key: str) -> str:
    """Return the name here of a node; a raw table is a source, the sample's a seed."""
    kind, *_, name = key.split(".")
    is_raw = kind in ("source", "seed") and name in TABLES
    return f"raw_{name}" if is_raw else name


def kept_models(**variables: str) -> list[Model]:
    """Return the sample's compiled models, compiled anew only if a file has changed."""
    return [
        Model(**model | {"path": ROOT / model["path"], "parents": (*model["parents"],)})
        for model in _kept(variables)["models"]
    ]


def kept_tests(**variables: str) -> dict[str, str]:
    """Return the queries of the sample's dbt tests by name, in the same way."""
    return _kept(variables)["tests"]


def _kept(variables: dict[str, str]) -> dict[str, Any]:
    place = KEPT / f"{_digest_of_project(variables)}.json"
    KEPT.mkdir(parents=True, exist_ok=True)
    # Processes of one run of the tests wait for the one that compiles.
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            written = place.with_suffix(".tmp")
            written.write_text(json.dumps(_compiled_copy(variables)))
            os.replace(written, place)
            by_age = sorted(KEPT.glob("*.json"), key=lambda path: path.stat().st_mtime)
            for old in by_age[:-MOST_KEPT]:
                old.unlink()
    os.utime(place)
    return json.loads(place.read_text())


def _compiled_copy(variables: dict[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        product = copy_project(Path(folder).resolve() / "product")
        project = install_product(product, product / SAMPLE, "secure_datasets")
        target = product / "target" / "kept"
        manifest = compiled(project, target, WITH_TESTS, variables=variables)
        models = models_of(project, manifest)
        return {
            # What is installed is a link to the product.
            "models": [
                asdict(model) | {"path": str(model.path.resolve().relative_to(product))}
                for model in models
            ],
            "tests": {
                node["name"]: node["compiled_code"]
                for node in manifest["nodes"].values()
                if node["resource_type"] == "test" and "compiled_code" in node
            },
        }


def _digest_of_project(variables: dict[str, str]) -> str:
    digest = hashlib.sha256()
    given = [version("dbt-core"), version("dbt-spark"), variables, str(date.today())]
    digest.update(json.dumps(given).encode())
    for path in tracked_files():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(DECIDES) and not name.startswith(NOT_DECIDES):
            digest.update(f"\0{name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:24]


def seed_files(folders: Iterable[Path]) -> list[Path]:
    """Return the files of the seeds but the raw tables; a later folder's count."""
    files = {
        path.stem: path
        for folder in folders
        for path in sorted({*folder.rglob("*.csv")} - {*folder.glob("repository/*")})
    }
    return list(files.values())


def seed_types(folders: Iterable[Path]) -> dict[str, dict[str, str]]:
    """Return the types that columns of seeds are loaded as, where they are no text."""
    return {
        entry["name"]: entry.get("config", {}).get("column_types", {})
        for folder in folders
        for path in folder.rglob("_*.yml")
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["seeds"]
    }
