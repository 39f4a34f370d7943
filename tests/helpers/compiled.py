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
from dataclasses import asdict, replace
from datetime import date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from oracle.contract import TABLES
from projects import ROOT, SAMPLE, copy_project, install_product, tracked_files

from dbt_secure_spark.folders import Folders, with_folders
from dbt_secure_spark.queries import replaced
from secure_datasets.engines.compiled import (
    SELECTION,
    Kept,
    Model,
    Seed,
    compiled,
    kept_of,
    made,
    models_of,
    raw_of,
    seeds_of,
)

# A past state reads schemas that are named after its moment.
RELATION = re.compile(
    r"\b(?P<schema>secure_datasets|repository_sample)(_as_of_[0-9_]+)?\.(?P<name>\w+)"
)
WITH_TESTS = ["--select", "resource_type:model", "resource_type:test", *SELECTION[2:]]
# The seeds of the product and of the sample, some with the same names.
SEEDS = (ROOT / "seeds", ROOT / SAMPLE / "seeds")
# The moment with which a past state is compiled, to be put off.
COMPILED_AS_OF = datetime(2024, 5, 1)
# The folder of compiled models, and the files that decide them besides dbt.
KEPT = ROOT / "target" / "compiled"
MOST_KEPT = 20
# A feed for the sample here; given rows ignore it.
FEEDS = "  feeds: {users: {kind: current, columns: {login_name: account}}}\n"
DECIDES = (
    *("macros/", "models/", "seeds/", "src/", "examples/tarn_valley_bank/"),
    *("dbt_project.yml", "selectors.yml", "profiles.yml.example"),
    "tests/helpers/compiled.py",
)
# These files run compiled models or query them, and decide none.
ENGINE = ("duckdb", "frames", "translation", "published", "spark")
CASES = ("given", "judging", "reading", "report")
NOT_DECIDES = (
    *(f"src/secure_datasets/engines/{name}.py" for name in ENGINE),
    *(f"src/secure_datasets/cases/{name}.py" for name in CASES),
    "examples/tarn_valley_bank/tests/access/",
)


def compile_models(
    project: Path, target: Path, manifest=None, **variables: Any
) -> list[Model]:
    """Compile a project without Spark; return its models, parents before children.

    With dbt's manifest of the project, made with the same variables, it is not parsed
    once more.
    """
    manifest = compiled(project, target, SELECTION, manifest, variables)
    return models_of(project, manifest, name_of_parent)


def as_of(models: list[Model], moment: datetime) -> list[Model]:
    """Return models that were compiled as of `COMPILED_AS_OF`, as of another moment.

    Compiling the project for each moment would take longer than running it.
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


def name_of_parent(key: str) -> str:
    """Return the name here of a node; a raw table is a source, the sample's a seed."""
    kind, *_, name = key.split(".")
    is_raw = kind in ("source", "seed") and name in TABLES
    return f"raw_{name}" if is_raw else name


def kept_sample(**variables: str) -> Kept:
    """Return what dbt makes of the sample, made anew only if a file has changed."""
    return kept_of(_kept(variables), ROOT)


def kept_models(**variables: str) -> list[Model]:
    """Return the sample's compiled models, in the same way."""
    return kept_sample(**variables).models


def kept_tests(**variables: str) -> dict[str, str]:
    """Return the queries of the sample's dbt tests by name, in the same way."""
    return _kept(variables)["tests"]


def _kept(variables: dict[str, str]) -> dict[str, Any]:
    place = KEPT / f"{_digest_of_project(variables)}.json"
    KEPT.mkdir(parents=True, exist_ok=True)
    # A process waits for the one that compiles the same.
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            written = place.with_suffix(".tmp")
            written.write_text(json.dumps(_compiled_copy(variables)))
            os.replace(written, place)
            _drop_old()
    os.utime(place)
    return json.loads(place.read_text())


def _drop_old() -> None:
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        by_age = sorted(KEPT.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for old in by_age[:-MOST_KEPT]:
            old.unlink()
            old.with_suffix(".lock").unlink(missing_ok=True)


def _compiled_copy(variables: dict[str, str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        product = copy_project(Path(folder).resolve() / "product")
        project = install_product(product, product / SAMPLE, "secure_datasets")
        said = project / "dbt_project.yml"
        text = said.read_text()
        assert text.count("\nvars:\n") == 1
        said.write_text(text.replace("\nvars:\n", f"\nvars:\n{FEEDS}"))
        options = ["--profiles-dir", str(project)]
        target = product / "target" / "kept"
        manifest, state = made(project, target, options, WITH_TESTS, variables)

        def kept(each: Model | Seed) -> dict[str, Any]:
            # The installed package is a link to the product.
            return asdict(each) | {
                "path": str(each.path.resolve().relative_to(product))
            }

        return {
            "models": [*map(kept, models_of(project, manifest, name_of_parent))],
            "seeds": [*map(kept, seeds_of(project, manifest))],
            "raw": raw_of(manifest),
            "state": state,
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
    """Return the types of seeds' columns other than texts."""
    return {
        entry["name"]: entry.get("config", {}).get("column_types", {})
        for folder in folders
        for path in folder.rglob("_*.yml")
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["seeds"]
    }
