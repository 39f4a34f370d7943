"""Small dbt projects with this project's macros, one for each test of the graph."""

from __future__ import annotations

import copy
import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from projects import ROOT, SAMPLE, local_output

# The hooks of a run read the seeds about privileges.
ALWAYS_COPIED = (
    *("macros", "models/_docs", "models/groups.yml"),
    *("seeds/privileges", "tests/dbt/generic"),
)
CONFIG_FILE = "macros/config/secure_datasets_config.sql"
NO_DATASETS = """{% macro secure_datasets_config() %}
{{ return({'tiers': {}, 'datasets': {}}) }}
{% endmacro %}
"""


def write_csv(path: Path, rows: list[dict]) -> None:
    """Write a seed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def small_project(
    folder: Path,
    like: Path,
    schema: str,
    models: dict[str, str],
    copied: tuple[str, ...] = (),
    seeds: dict[str, list[dict]] | None = None,
    settings: dict | None = None,
) -> Path:
    """Make a project of models and seeds, and of parts copied from this project.

    It has this project's name, macros and hooks.

    like      the project whose Spark session it uses
    schema    its own schema
    models    texts by path, including YAML and a config, if any
    copied    the copied parts, besides `ALWAYS_COPIED`
    seeds     rows by path
    settings  replacements for settings in dbt_project.yml
    """
    for part in (*ALWAYS_COPIED, *copied):
        source, target = ROOT / part, folder / part
        if source.is_dir():
            shutil.copytree(source, target)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    # The product's own config names models that are not here.
    for path, text in ({CONFIG_FILE: NO_DATASETS} | models).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    for path, rows in (seeds or {}).items():
        write_csv(folder / path, rows)
    settings = yaml.safe_load((ROOT / "dbt_project.yml").read_text()) | (settings or {})
    # The sample's variables fix the day that it is judged on.
    sample = yaml.safe_load((ROOT / SAMPLE / "dbt_project.yml").read_text())
    own = {"raw_schema": schema, "sample_schema": schema, "feeds": {}}
    settings["vars"] |= sample["vars"] | own
    (folder / "dbt_project.yml").write_text(yaml.safe_dump(settings, sort_keys=False))
    output = local_output(like) | {"schema": schema}
    profile = {settings["profile"]: {"target": "local", "outputs": {"local": output}}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(profile, sort_keys=False))
    return folder


def plain_project(
    folder: Path, like: Path, schema: str, files: dict[str, str], **outputs: str
) -> Path:
    """Make a project with the adapter and its two hooks, but no part of this project.

    It has little to parse.

    files    texts by path
    outputs  the schemas of further outputs beside the target `local`
    """
    settings = {
        "name": "plain",
        "version": "1.0.0",
        "profile": "secure_datasets",
        "vars": {"run_lock_seconds": 2},
        "models": {
            "+materialized": "published_view",
            "+file_format": "parquet",
            "+persist_docs": {"relation": True},
        },
        "seeds": {"+file_format": "parquet", "+submission_method": "session"},
        "on-run-start": ["{{ begin_run() }}"],
        "on-run-end": ["{{ end_run(results) }}"],
        "flags": {"send_anonymous_usage_stats": False},
    }
    local = local_output(like) | {"schema": schema, "threads": 2}
    all_outputs = {"local": local} | {
        name: local | {"schema": of_output} for name, of_output in outputs.items()
    }
    profile = {"secure_datasets": {"target": "local", "outputs": all_outputs}}
    texts = {
        "dbt_project.yml": yaml.safe_dump(settings),
        "profiles.yml": yaml.safe_dump(profile),
        **files,
    }
    for path, text in texts.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


class SmallProject:
    """A small project: parsed once, compiled from its manifest or an edited copy."""

    def __init__(self, folder: Path, dbt: Callable[..., Any]) -> None:
        self.folder, self.dbt = folder, dbt
        result = dbt("parse", "--quiet", folder=folder)
        assert result.success, result.exception
        self.manifest = result.result

    def compile(
        self, *selected: str, edit: Callable[[Any], None] = lambda manifest: None
    ) -> Any:
        """Compile nodes of the manifest after an edit; return dbt's result."""
        manifest = copy.deepcopy(self.manifest)
        edit(manifest)
        manifest.build_flat_graph()
        return self.dbt(
            *("compile", "--quiet", "--no-populate-cache", "--no-introspect"),
            *("--indirect-selection", "empty", "--select", *selected),
            folder=self.folder,
            manifest=manifest,
            writes_manifest=True,
        )

    def compiled(self, *selected: str) -> dict[str, dict[str, Any]]:
        """Compile nodes; return all nodes by name."""
        result = self.compile(*selected)
        assert result.success, result.exception
        written = json.loads((self.folder / "target/manifest.json").read_text())
        return {node["name"]: node for node in written["nodes"].values()}

    def refusal(self, *selected: str, edit: Callable[[Any], None]) -> str:
        """Return dbt's messages when it refuses to compile."""
        result = self.compile(*selected, edit=edit)
        assert not result.success
        messages = (str(each.message) for each in result.result or [])
        return " ".join([str(result.exception), *messages])


def documented(references: dict[str, dict[str, str]]) -> str:
    """Return YAML with the references of columns, by model."""
    models = [
        {
            "name": model,
            "columns": [
                {"name": column, "config": {"meta": {"refers_to": refers_to}}}
                for column, refers_to in columns.items()
            ],
        }
        for model, columns in references.items()
    ]
    return yaml.safe_dump({"models": models}, sort_keys=False)
