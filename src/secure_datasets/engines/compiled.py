"""A project's models as dbt compiles them without Spark, for the quick engine.

    kept = kept_project(Path("acme"), Path("acme"), "local", tell=print)
    Models(kept.models).put(engine)
    engine.ask("select * from secure_datasets.vw_secure_dataset_tests")

The result is kept until a file that decides it changes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import date
from functools import partial
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

from dbt_secure_spark.in_time import NOW, of_columns
from secure_datasets.by_dbt import sentence_of
from secure_datasets.config.plan import PACKAGE
from secure_datasets.digest import python_part
from secure_datasets.engines.duckdb import DuckDB, Made, Rows
from secure_datasets.engines.frames import Dbt, Session, load_model

# dbt can't compile a Python model without a metastore; its file is run unchanged.
SELECTION = ["--select", "resource_type:model", "--exclude", "file:*.py"]
# Raw rows are given in the application's form, whatever the project's feeds.
VARS = {"feeds": {}}
FOLDER = "target/access_cases"
MOST_KEPT = 5
# The files that decide compiled SQL: in a project, and in the installed Python.
PATHS = ("model-paths", "macro-paths", "seed-paths", "snapshot-paths")
FILES = {".sql", ".py", ".yml", ".yaml", ".md", ".csv"}
NOT_DECIDING = ("target", "logs", "dbt_packages")
# What decides beside the product's Python part: see `digest`.
ADAPTER = ("dbt.adapters.secure_spark", "dbt.include.secure_spark")
# The folder of a project's cases of access, which decide no model.
CASES = "tests/access"
# The suffix of the name of a relation with the rows of any time.
VERSION = "__of_any_time"
YAML = re.compile(r"[^.].*\.ya?ml")
ENVIRONMENT = re.compile(rb"env_var\(\s*['\"](\w+)")


class CompileError(Exception):
    """dbt could not compile the project; the message is from dbt."""


@dataclass(frozen=True)
class Model:
    """One compiled model: its code, its name, and the names of its parents."""

    name: str
    sql: str | None
    path: Path
    parents: tuple[str, ...]
    is_view: bool = False
    relation: str = ""
    # The config's setting whether its rows have a time if its parents' rows have one.
    in_time: bool | str | None = None

    @property
    def code(self) -> str:
        """The code that decides the rows: the compiled SQL, or the Python file."""
        return self.path.read_text() if self.sql is None else self.sql


@dataclass(frozen=True)
class Seed:
    """One seed: its file, its relation, and the types of columns other than texts."""

    name: str
    path: Path
    relation: str
    types: Mapping[str, str]

    @property
    def rows(self) -> Rows:
        """The rows of the file, as dbt loads them: empty values are null."""
        import csv

        with self.path.open(encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
        columns = {name: self.types.get(name, "string") for name in header}
        return Rows(columns, [tuple(v or None for v in line) for line in lines])


@dataclass(frozen=True)
class Kept:
    """The result of dbt for a project.

    raw     the relation of each raw table
    state   the graph and the documents, as a published state has them
    """

    models: list[Model]
    seeds: list[Seed]
    raw: dict[str, str]
    state: dict[str, Any]


# dbt's results


def call(project: Path, *arguments: str, manifest: Any = None) -> Any:
    """Return the result of a dbt command; raise `CompileError` with its message."""
    from dbt.cli.main import dbtRunner

    place = ["--project-dir", str(project)]
    result = dbtRunner(manifest=manifest).invoke(
        ["--log-level", "none", *arguments, *place]
    )
    if not result.success:
        raise CompileError(sentence_of(result, []))
    return result.result


def compiled(
    project: Path,
    target: Path,
    selection: list[str],
    manifest: Any = None,
    variables: Mapping[str, Any] | None = None,
    options: Iterable[str] = (),
) -> dict[str, Any]:
    """Compile a project without Spark; return the manifest that dbt writes.

    With dbt's manifest of the project, made with the same variables, it is not parsed
    once more.
    """
    call(
        project,
        *("compile", "--no-populate-cache", "--no-introspect"),
        *("--indirect-selection", "empty", "--vars", json.dumps(variables or {})),
        *selection,
        *("--target-path", str(target)),
        *(options or ("--profiles-dir", str(project))),
        manifest=manifest,
    )
    return json.loads((target / "manifest.json").read_text())


def models_of(
    project: Path,
    manifest: Mapping[str, Any],
    name_of: Callable[[str], str] = lambda key: key.rpartition(".")[2],
) -> list[Model]:
    """Return the models of a manifest, parents before children.

    name_of  returns the name of a model's parent, by dbt's key
    """
    nodes, root = manifest["nodes"], manifest["metadata"]["project_name"]
    waiting = {
        key: Model(
            name=node["name"],
            sql=node.get("compiled_code") if node["language"] == "sql" else None,
            path=_folder_of(project, root, node) / node["original_file_path"],
            parents=tuple(map(name_of, node["depends_on"]["nodes"])),
            is_view=node["config"]["materialized"] == "view",
            relation=plain_name(node["relation_name"]),
            in_time=node["config"].get("in_time"),
        )
        for key, node in nodes.items()
        if node["resource_type"] == "model"
    }
    ordered = []
    while waiting:
        # By keys: a model may have the name of a source that it reads.
        ready = [
            key
            for key in waiting
            if waiting.keys().isdisjoint(nodes[key]["depends_on"]["nodes"])
        ]
        ordered += [waiting.pop(key) for key in ready]
    return ordered


def seeds_of(project: Path, manifest: Mapping[str, Any]) -> list[Seed]:
    """Return the seeds of a manifest, without the raw tables of the sample."""
    nodes, root = manifest["nodes"].values(), manifest["metadata"]["project_name"]
    raw = {*raw_of(manifest).values()}
    return [
        Seed(
            name=node["name"],
            path=_folder_of(project, root, node) / node["original_file_path"],
            relation=plain_name(node["relation_name"]),
            types=node["config"].get("column_types") or {},
        )
        for node in nodes
        if node["resource_type"] == "seed"
        and plain_name(node["relation_name"]) not in raw
    ]


def raw_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the relation of each raw table."""
    return {
        source["name"]: plain_name(source["relation_name"])
        for source in manifest["sources"].values()
        if source["package_name"] == PACKAGE and source["source_name"] == "repository"
    }


def plain_name(relation: str | None) -> str:
    """Return a relation's name as the quick engine has it."""
    return (relation or "").replace("`", "").lower()


def _folder_of(project: Path, root: str, node: Mapping[str, Any]) -> Path:
    """Return the folder of a node's project: the root project, or one it installs."""
    package = node["package_name"]
    return project if package == root else project / "dbt_packages" / package


# Kept results


def kept_project(
    project: Path, profiles: Path, target: str, tell: Callable[[str], Any]
) -> Kept:
    """Return dbt's result for a project, made anew only if a file has changed.

    tell  is called with a message before a slow step
    """
    folder = project / FOLDER
    place = folder / f"{_digest(project, profiles, target)}.json"
    if not place.is_file():
        tell("dbt compiles the project, because a file of it has changed")
        made = _made(project, profiles, target, folder)
        written = place.with_suffix(f".{os.getpid()}.tmp")
        written.write_text(json.dumps(made), encoding="utf-8")
        os.replace(written, place)
        by_age = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for old in by_age[:-MOST_KEPT]:
            old.unlink()
    os.utime(place)
    return kept_of(json.loads(place.read_text(encoding="utf-8")))


def kept_of(values: Mapping[str, Any], folder: Path = Path()) -> Kept:
    """Return a kept result, from JSON; paths are relative to a folder."""
    return Kept(
        [
            Model(
                **each | {"path": folder / each["path"], "parents": (*each["parents"],)}
            )
            for each in values["models"]
        ],
        [Seed(**each | {"path": folder / each["path"]}) for each in values["seeds"]],
        values["raw"],
        values["state"],
    )


def _made(project: Path, profiles: Path, target: str, folder: Path) -> dict[str, Any]:
    options = ["--profiles-dir", str(profiles), "--target", target]
    manifest, state = made(project, folder / "dbt", options)
    return {
        "models": [_with_texts(each) for each in models_of(project, manifest)],
        "seeds": [_with_texts(each) for each in seeds_of(project, manifest)],
        "raw": raw_of(manifest),
        "state": state,
    }


def _with_texts(kept: Model | Seed) -> dict[str, Any]:
    return asdict(kept) | {"path": str(kept.path)}


def made(
    project: Path,
    target: Path,
    options: list[str],
    selection: list[str] = SELECTION,
    variables: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the manifest of a compiled project, and the state for macros."""
    from dbt_secure_spark.published_state import nodes_of

    given = {**VARS, **(variables or {})}
    common = [*options, "--target-path", str(target), "--vars", json.dumps(given)]
    parsed = call(project, "parse", *common)
    manifest = compiled(project, target, selection, parsed, given, options)
    call(project, "run-operation", "write_state", *common, manifest=parsed)
    document = json.loads((target / "state.json").read_text(encoding="utf-8"))
    raw = raw_of(manifest)
    columns = {
        raw[table]: [[column, "string"] for column in entry["columns"]]
        for table, entry in document["raw_tables"].items()
    }
    columns |= {model.relation: [] for model in models_of(project, manifest)}
    return manifest, {
        "project": manifest["metadata"]["project_name"],
        "relations": {name: {"columns": found} for name, found in columns.items()},
        "versions": {},
        "graph": nodes_of(manifest),
        "documents": {"secure_datasets": document},
    }


def _digest(project: Path, profiles: Path, target: str) -> str:
    """Return a digest of everything that decides dbt's result for a project."""
    digest, variables = hashlib.sha256(), set()
    given = [version("dbt-core"), python_part(), target, str(date.today())]
    digest.update(json.dumps(given).encode())
    decides = {*_files(project), profiles / "profiles.yml", Path(__file__)}
    for path in sorted(decides):
        # The rows of a seed are read later, when a question reads them.
        text = b"" if path.suffix == ".csv" else path.read_bytes()
        digest.update(f"\0{path}\0".encode() + text)
        variables.update(ENVIRONMENT.findall(text))
    for name in sorted(variables):
        digest.update(repr((name, os.environ.get(name.decode()))).encode())
    return digest.hexdigest()[:24]


def _files(project: Path) -> Iterator[Path]:
    packages = sorted((project / "dbt_packages").glob("*"))
    for place, folders, names in os.walk(project):
        # Files of the Semantic Modeling Language may lie anywhere.
        folders[:] = [f for f in folders if f[0] != "." and f not in NOT_DECIDING]
        if Path(place) != project / CASES:
            yield from (Path(place) / n for n in names if YAML.fullmatch(n))
    for folder in (project, *filter(Path.is_dir, packages)):
        said = yaml.safe_load((folder / "dbt_project.yml").read_text()) or {}
        named: list[str] = []
        for key in PATHS:
            paths = said.get(key, [key.removesuffix("-paths") + "s"])
            named += paths if isinstance(paths, list) else ["models"]
        for name in {*named}:
            yield from _below(folder / name)
    for name in ADAPTER:
        spec = find_spec(name)
        for place in (spec and spec.submodule_search_locations) or ():
            yield from _below(Path(place))


def _below(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.suffix in FILES and path.is_file() and "target" not in path.parts:
            yield path


# Running models


def in_time(
    engine: DuckDB, name: str, made: Made, setting: bool | str | None, clock: str = NOW
) -> dict[str, Made]:
    """Return a model's relation, and its version if its rows may hold for a time.

    setting  the setting of time in the model's config
    clock    SQL for the moment at which the relation is read
    """
    if not setting or made.is_view:
        return {name: made}
    version = f"{name}{VERSION}"

    def shown() -> str:
        rows = of_columns(engine.columns(version), clock)
        return rows.published_rows(version) if rows else f"select * from {version}"

    return {version: made, name: Made(shown, is_view=True)}


def whole(engine: DuckDB, name: str, in_time: bool | str | None) -> str:
    """Return the relation that a model reads: the version, if both have a time."""
    version = f"{name}{VERSION}"
    return version if in_time and engine.has(version) else name


class Models:
    """Compiled models, each computed by the quick engine when it is first read.

    named            changes the names of relations, alone and in SQL
    nests_in_rounds  nests groups as if they were too many for one machine
    """

    def __init__(
        self,
        models: Iterable[Model],
        named: Callable[[str], str] = str,
        nests_in_rounds: bool = False,
    ) -> None:
        self.models = list(models)
        self.named, self.nests_in_rounds = named, nests_in_rounds
        self.modules: dict[str, ModuleType] = {}
        self.relations = {model.name: model.relation for model in self.models}

    def put(
        self,
        engine: DuckDB,
        seeds: Mapping[str, str] | None = None,
        clock: str = NOW,
    ) -> None:
        """Put the models into an engine that has their raw relations.

        seeds  the relation of each seed that a Python model may read
        clock  SQL for the moment at which rows with a time are read
        """
        session = Session(engine)
        refs = {**(seeds or {}), **self.relations}
        for model in self.models:
            query = partial(self._query, model, session, refs)
            made = Made(query, is_view=bool(model.in_time) and model.is_view)
            place = self.named(model.relation)
            found = in_time(engine, place, made, model.in_time, clock)
            for each, relation in found.items():
                engine.put(each, relation)

    def _query(self, model: Model, session: Session, refs: Mapping[str, str]) -> str:
        if model.sql is not None:
            return self.named(model.sql)
        module = self.modules.setdefault(model.name, load_model(model.path))
        if self.nests_in_rounds:
            module.MOST_ON_THE_DRIVER = 0
        dbt = Dbt(
            session,
            lambda name: whole(session.engine, self.named(refs[name]), model.in_time),
        )
        return module.model(dbt, session).sql()
