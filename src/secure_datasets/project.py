"""Which project, which target, and where its published state lies: by dbt's own rules.

Reads `dbt_project.yml` and `profiles.yml`, and nothing else. Knows no dbt.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, TemplateError

from secure_datasets.engines.published import STATE, Elsewhere, local_path

SUFFIX = "_versions"
# Where Spark keeps tables if nothing else is said.
DEFAULT_WAREHOUSE = "spark-warehouse"


class NoProject(Exception):
    """Project or target are not there; the message says what is missing."""


@dataclass(frozen=True)
class Project:
    """A dbt project with one target of its profile."""

    folder: Path
    profiles: Path
    name: str
    target: str
    schema: str
    method: str
    settings: dict[str, Any]
    target_folder: Path
    # The target that somebody has named; None if it is the profile's own.
    asked_target: str | None

    def state_path(self, schema: str | None = None) -> Path:
        """Return where a schema's state lies: that of the target, or another."""
        named = str(self.settings.get("spark.sql.warehouse.dir", DEFAULT_WAREHOUSE))
        warehouse = local_path(named)
        if warehouse is None or "spark.remote" in self.settings:
            where = "a server's" if warehouse is not None else named
            raise Elsewhere(
                f"the warehouse of the target '{self.target}' is {where}, which is no"
                " folder of this machine: name the file, --state <path>"
            )
        folder = f"{(schema or self.schema).lower()}{SUFFIX}.db"
        return self.folder / warehouse / folder / STATE


def find(
    project_dir: str | None, profiles_dir: str | None, target: str | None
) -> Project:
    """Return the project that is meant, as dbt would find it."""
    folder = _folder(project_dir or os.environ.get("DBT_PROJECT_DIR"))
    project = _read(folder / "dbt_project.yml")
    named = project.get("profile")
    profiles = _profiles(folder, profiles_dir or os.environ.get("DBT_PROFILES_DIR"))
    profile = _read(profiles / "profiles.yml").get(str(named))
    if not isinstance(profile, dict) or not isinstance(profile.get("outputs"), dict):
        raise NoProject(f"{profiles / 'profiles.yml'} has no profile '{named}'")
    asked = target
    target = target or os.environ.get("DBT_TARGET") or _said(profile.get("target"))
    outputs = profile["outputs"]
    output = outputs.get(target or "default")
    if not isinstance(output, dict):
        raise NoProject(
            f"the profile '{named}' has no target '{target or 'default'}'; it has"
            f" {', '.join(sorted(outputs))}"
        )
    settings = output.get("server_side_parameters") or {}
    return Project(
        folder=folder,
        profiles=profiles,
        name=str(project.get("name")),
        target=str(target or "default"),
        schema=_said(output.get("schema")) or "",
        method=_said(output.get("method")) or "",
        target_folder=folder / _target_path(project),
        asked_target=asked,
        settings={
            name: _said(value) if "warehouse" in name else value
            for name, value in settings.items()
        },
    )


def _target_path(project: dict[str, Any]) -> str:
    named = os.environ.get("DBT_TARGET_PATH") or _said(project.get("target-path"))
    return named or "target"


def _folder(named: str | None) -> Path:
    if named:
        folder = Path(named).resolve()
        if (folder / "dbt_project.yml").is_file():
            return folder
        raise NoProject(f"{folder} has no dbt_project.yml: it is no dbt project")
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "dbt_project.yml").is_file():
            return folder
    raise NoProject(
        f"{here} is in no dbt project: name the project, --project-dir <path>"
    )


def _profiles(folder: Path, named: str | None) -> Path:
    tried = [Path(named)] if named else [Path.cwd(), folder, Path.home() / ".dbt"]
    for place in tried:
        if (place / "profiles.yml").is_file():
            return place
    example = folder / "profiles.yml.example"
    hint = f": copy {example}, and write your folders in it"
    hint = hint if example.is_file() else ""
    places = ", ".join(dict.fromkeys(map(str, tried)))
    raise NoProject(f"there is no profiles.yml in {places}{hint}")


def _read(path: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), loader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as failure:
        reason = str(failure).splitlines()[0]
        raise NoProject(f"{path} can't be read: {reason}") from None
    if not isinstance(found, dict):
        raise NoProject(f"{path} is no mapping")
    return found


def _said(value: Any) -> str | None:
    """Return a value of a profile; what stands in braces is rendered as dbt does."""
    if value is None or "{{" not in str(value):
        return None if value is None else str(value)
    environment = Environment()
    environment.globals["env_var"] = _env_var
    try:
        return environment.from_string(str(value)).render()
    except TemplateError as failure:
        raise NoProject(f"the profile's '{value}' can't be read: {failure}") from None


def _env_var(name: str, default: str | None = None) -> str:
    value = os.environ.get(name, default)
    if value is None:
        raise NoProject(f"the profile asks for {name}, which the environment has not")
    return value
