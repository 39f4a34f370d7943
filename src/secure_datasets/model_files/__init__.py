"""Writes the files that follow from the config: `secure-datasets models`.

A secure dataset's model is one line, and its documentation has the columns of its base:
their names, types and descriptions. A base, or a tier's access view, without any
documentation is described by the columns of the same names elsewhere. All that people
wrote stays, but for a secure dataset's columns where they differ from the base's: the
description of a model, a column's tests, what goes on after the base's description.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import yaml

from secure_datasets.config.models import Models
from secure_datasets.config.plan import PACKAGE, PREFIX, parent_dataset, tier_columns
from secure_datasets.model_files.entries import (
    Column,
    Flow,
    FlowList,
    filled,
    with_columns,
    with_entry,
)
from secure_datasets.questions.asked import QuestionError
from secure_datasets.questions.configs import config_of_files

CONFIG = "macros/config/secure_datasets_config.sql"
USER = "user_id"
DOC = re.compile(r"doc\('(\w+)'\)")
SEEN = "and user who may see it"
GRAIN = re.compile(rf"One row per ([^.]+?)(?: {SEEN})?\.(?:\s|$)")
SAID = ("data_type", "description")


@dataclass
class Written:
    """The files to write, by path, and what nothing in the project describes."""

    files: dict[Path, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Entry:
    """The documentation of a model, and the file that it stands in."""

    values: dict[str, Any]
    path: Path

    @property
    def columns(self) -> dict[str, Column]:
        return {column["name"]: column for column in self.values.get("columns") or ()}


def written(folder: Path) -> Written:
    """Return the files that a project lacks, or that are not as the config is."""
    settings = _settings(folder)
    is_product = settings["name"] == PACKAGE
    packages = folder / settings.get("packages-install-path", "dbt_packages")
    product = folder if is_product else packages / PACKAGE
    if not (product / CONFIG).is_file():
        raise QuestionError(f"{product} has no {CONFIG}: run `dbt deps`")
    own = settings.get("vars") or {}
    known = {**_settings(product)["vars"], **own, **(own.get(PACKAGE) or {})}
    # A rule's relations and variables make no difference here.
    context = {
        "ref": lambda *names, **_: f"`{names[-1]}`",
        "source": lambda *names: ".".join(f"`{name}`" for name in names),
        "var": lambda name, default=None: known.get(name, default),
        "target": SimpleNamespace(schema=PACKAGE, name="", type="secure_spark"),
    }
    text = (product / CONFIG).read_text(encoding="utf-8")
    config = config_of_files(text, None if is_product else folder, context, Models())
    files = _Files(folder, None if is_product else product, config)
    files.write()
    return files.made


def _settings(folder: Path) -> dict[str, Any]:
    found = yaml.safe_load((folder / "dbt_project.yml").read_text(encoding="utf-8"))
    return dict(found)


class _Files:
    """The models and YAML of a project and of the package, and what is to be made."""

    def __init__(
        self, folder: Path, package: Path | None, config: dict[str, Any]
    ) -> None:
        self.folder, self.package, self.config = folder, package, config
        self.made = Written()
        self.models_folder = _settings(folder).get("model-paths", ["models"])[0]
        self.entries: dict[str, _Entry] = {}
        self.models: dict[str, Path] = {}
        # What a root project has of a name counts.
        for project in filter(None, (package, folder)):
            for path in _files_of(project):
                if path.suffix in (".yml", ".yaml"):
                    self._read(path, path.read_text(encoding="utf-8"))
                elif path.suffix in (".sql", ".py"):
                    self.models[path.stem] = path

    def _read(self, path: Path, text: str) -> None:
        """Take what a YAML file says of models and seeds."""
        try:
            found = yaml.safe_load(text) or {}
        except yaml.YAMLError as failure:
            raise QuestionError(f"{path} can't be read: {failure}") from None
        for part in ("models", "seeds", "snapshots"):
            for values in found.get(part) or ():
                self.entries[values["name"]] = _Entry(values, path)

    def _is_own(self, path: Path) -> bool:
        return self.package is None or not path.is_relative_to(self.package)

    def _write(self, path: Path, text: str) -> None:
        self.made.files[path] = text
        self._read(path, text)

    def _text(self, path: Path) -> str:
        if path in self.made.files or not path.is_file():
            return self.made.files.get(path, "")
        return path.read_text(encoding="utf-8")

    def write(self) -> None:
        """Make the files, bases and access views before what shows their columns."""
        datasets = self.config["datasets"]
        for name, tier in self.config["tiers"].items():
            self._draft(tier["access_view"], lambda t=tier, n=name: self._access(n, t))
        for name, dataset in datasets.items():
            if "base" in dataset and not parent_dataset(dataset):
                self._draft(dataset["base"], lambda d=dataset, n=name: self._base(n, d))
        for name in sorted(datasets, key=self._depth):
            model = PREFIX + name
            if model not in self.models:
                path = self.folder / self.models_folder / "secure" / f"{model}.sql"
                line = f"{{{{ secure_datasets.secure_dataset('{name}') }}}}\n"
                self.made.files[path] = line
                self.models[model] = path
            if self._is_own(self.models[model]):
                self._document(name, datasets[name])

    def _depth(self, name: str) -> int:
        below = parent_dataset(self.config["datasets"][name])
        return 1 + self._depth(below) if below else 0

    def _draft(self, model: str, entry: Any) -> None:
        """Document a model of the project that has no documentation."""
        path = self.models.get(model)
        if path and self._is_own(path) and model not in self.entries:
            self._add(model, entry())

    def _add(self, model: str, values: dict[str, Any]) -> None:
        """Add an entry to the YAML of its model's folder."""
        folder = self.models[model].parent
        theirs = {e.path for e in self.entries.values() if e.path.parent == folder}
        path = min(theirs, default=folder / f"_{folder.name}__models.yml")
        self._write(path, with_entry(self._text(path), {"name": model, **values}))
        for key in SAID:
            names = [c["name"] for c in values["columns"] if not c.get(key)]
            if names:
                self.made.missing.append(
                    f"{path.relative_to(self.folder)}: write the {key} of"
                    f" {', '.join(names)} of {model}"
                )

    def _document(self, name: str, dataset: dict[str, Any]) -> None:
        """Let the documentation of a secure dataset have the columns that it shows."""
        model, columns = PREFIX + name, self._columns(dataset)
        entry = self.entries.get(model)
        if entry is None:
            self._add(model, self._secure(dataset, columns))
            return
        before = self._text(entry.path)
        after = with_columns(before, model, columns, _is_in_step)
        if after != before:
            self._write(entry.path, after)

    # Columns

    def _columns(self, dataset: dict[str, Any]) -> list[Column]:
        """Return what is known of the columns of a secure dataset."""
        base, views = dataset.get("base"), self._access_views(dataset)
        below = base if parent_dataset(dataset) else (*views, None)[0]
        return [
            *(self._said(base, column) for column in dataset["columns"]),
            self._said(below, USER),
            *(self._said(below, c) for c in tier_columns(dataset, self.config)),
        ]

    def _access_views(self, dataset: dict[str, Any]) -> list[str]:
        rules = dataset.get("switch", {}).get("cases", {"": dataset}).values()
        tiers = [rule["tier"] for rule in rules if "tier" in rule]
        return [self.config["tiers"][tier]["access_view"] for tier in tiers]

    def _said(self, model: str | None, name: str) -> Column:
        """Return the name, type and description of a model's column, as documented."""
        entry = self.entries.get(model or "")
        said = entry.columns.get(name, {}) if entry else {}
        column = {key: said[key] for key in SAID if said.get(key)}
        if entry and "description" in column and not self._is_own(entry.path):
            text = DOC.sub(rf"doc('{PACKAGE}', '\1')", column["description"])
            column["description"] = text
        return {"name": name, **column}

    def _alike(self, name: str) -> Column:
        """Return what most columns of a name say, in bases and access views first.

        The object that they refer to is taken if all name the same one; the key of a
        staged table refers to that table.
        """
        tiers, datasets = self.config["tiers"].values(), self.config["datasets"]
        near = {tier["access_view"] for tier in tiers}
        near |= {d["base"] for d in datasets.values() if "base" in d}
        having = [model for model, e in self.entries.items() if name in e.columns]
        models = [model for model in having if model in near]
        said = [self._said(model, name) for model in models or having]
        column: Column = {"name": name}
        if types := Counter(c["data_type"] for c in said if "data_type" in c):
            column["data_type"] = types.most_common(1)[0][0]
        texts = Counter(c["description"] for c in said if "description" in c)
        if models and texts:
            column["description"] = texts.most_common(1)[0][0]
        elif name.endswith("_id"):
            column["description"] = f"Id of the {_objects([name])}."
        objects = set()
        for model in models or having:
            documented = self.entries[model].columns[name]
            meta = (documented.get("config") or {}).get("meta") or {}
            tests = documented.get("data_tests") or ()
            is_key = model.startswith("stg_") and "unique" in tests
            objects |= {meta.get("refers_to", model if is_key else None)} - {None}
        if len(objects) == 1:
            column["config"] = {"meta": Flow(refers_to=objects.pop())}
        return column

    # New entries

    def _access(self, name: str, tier: dict[str, Any]) -> dict[str, Any]:
        keys = [*tier["object_keys"], USER]
        columns = [self._alike(column) for column in [*keys, *tier["carries"]]]
        for column in columns[: len(keys)]:
            column["data_tests"] = ["not_null"]
        return {
            "description": filled(
                f"One row per {_objects(tier['object_keys'])} and user with access to"
                f" it. It decides the tier *{_spaced(name)}*.",
                "A reader gets the rows with the reader's own `user_id` only. Primary"
                f" key: {_ticked(keys)}.",
            ),
            "data_tests": self._are_unique(keys),
            "columns": columns,
        }

    def _base(self, name: str, dataset: dict[str, Any]) -> dict[str, Any]:
        keys = dataset["unique_key"]
        columns = [self._alike(column) for column in dataset["columns"]]
        for column in columns:
            if column["name"] in keys:
                column["data_tests"] = ["not_null", *["unique"] * (len(keys) == 1)]
        return {
            "description": filled(
                f"One row per {_objects(keys)}. The base of the secure dataset"
                f" `{name}`.",
                "For administrators: it holds the rows of every user; readers use"
                f" `{PREFIX}{name}`. Primary key: {_ticked(keys)}.",
            ),
            **({"data_tests": self._are_unique(keys)} if keys[1:] else {}),
            "columns": columns,
        }

    def _secure(self, dataset: dict[str, Any], columns: list[Column]) -> dict[str, Any]:
        base, keys = dataset.get("base"), [*dataset["unique_key"], USER]
        entry = self.entries.get(base or "")
        grain = GRAIN.match(str(entry.values.get("description"))) if entry else None
        rows = " ".join(grain[1].split()) if grain else _objects(keys[:-1])
        after = " and ".join(
            f"`{column['name']}`" for column in columns[len(dataset["columns"]) :]
        )
        is_open = self._has_rows_for_everyone(dataset)
        if not is_open:
            user = next(column for column in columns if column["name"] == USER)
            user["data_tests"] = ["not_null"]
        shows = f"All columns of `{base}`, then {after}. " if base else ""
        about = "about_tiers" if self.package is None else f"{PACKAGE}', 'about_tiers"
        return {
            "description": filled(
                f"One row per {rows} {SEEN}. {self._rule(dataset)}"
                " Always filter by `user_id`"
                + ("; rows without it are for everyone." if is_open else "."),
                f"{shows}Primary key: {_ticked(keys)}.",
                f"{{{{ doc('{about}') }}}}",
            ),
            "data_tests": self._are_unique(keys),
            "columns": columns,
        }

    def _rule(self, dataset: dict[str, Any]) -> str:
        """Return a sentence with what decides who sees a row."""
        if "switch" in dataset:
            return f"The row's `{dataset['switch']['column']}` decides by which tier."
        if "tier" in dataset:
            (view,) = self._access_views(dataset)
            return (
                f"Tier *{_spaced(dataset['tier'])}*: a user needs access by `{view}`."
            )
        if parent_dataset(dataset):
            return f"A user sees the rows that `{dataset['base']}` shows to that user."
        return "The rules of the config decide which rows a user sees."

    def _has_rows_for_everyone(self, dataset: dict[str, Any]) -> bool:
        if below := parent_dataset(dataset):
            return self._has_rows_for_everyone(self.config["datasets"][below])
        cases = dataset.get("switch", {}).get("cases", {}).values()
        return any("visible_to" in case for case in cases)

    def _are_unique(self, keys: list[str]) -> list[dict[str, Any]]:
        test = "unique_rows" if self.package is None else f"{PACKAGE}.unique_rows"
        return [{test: {"arguments": {"columns": FlowList(keys)}}}]


def _files_of(project: Path) -> list[Path]:
    """Return the files of a project's models, and of the YAML of its seeds."""
    settings = _settings(project)
    folders = [
        *settings.get("model-paths", ["models"]),
        *settings.get("seed-paths", ["seeds"]),
        *settings.get("snapshot-paths", ["snapshots"]),
    ]
    return sorted(path for f in folders for path in (project / f).rglob("*.*"))


def _is_in_step(column: Column, documented: Column) -> bool:
    """Whether a column has its base's type, and begins with its description."""
    said = " ".join(str(documented.get("description") or "").split())
    return column.get("data_type") in (None, documented.get("data_type")) and (
        said.startswith(" ".join(column.get("description", "").split()))
    )


def _spaced(name: str) -> str:
    return name.replace("_", " ")


def _ticked(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _objects(keys: list[str]) -> str:
    """Return the objects of some ids in words."""
    names = [_spaced(key.removesuffix("_id")) for key in keys]
    return " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])
