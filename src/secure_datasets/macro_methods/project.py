"""The reader and planner of the config in a dbt project."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dbt.adapters.base import BaseAdapter
from dbt_common.exceptions import DbtRuntimeError

from secure_datasets import installed
from secure_datasets.config import plan, tags
from secure_datasets.config.document import (
    MACRO,
    Source,
    is_noticed,
    not_taken,
    source_of,
)
from secure_datasets.config.models import Models
from secure_datasets.config.plan import PACKAGE
from secure_datasets.macro_methods.checks import Checks
from secure_datasets.macro_methods.documents import NO_TEXT
from secure_datasets.macro_methods.printed import Printed
from secure_datasets.render import (
    granting,
)


class SecureDatasets(Checks, Printed):
    """Reads, checks, plans and prints the secure datasets for macros."""


class ProjectDatasets(SecureDatasets):
    """The same, in a dbt project."""

    def __init__(self, manifest: Any, root: Path | None = None) -> None:
        super().__init__(root=root)
        self.manifest = manifest

    def read(self, text: str, context: Any = None, added: Any = None) -> dict[str, Any]:
        """Return the checked config of the macro whose context this is.

        While dbt parses, only its context has the manifest: `ref` looks into it.
        """
        known = _manifest(context)
        # A unit test's own manifest has its inputs alone, and no files.
        if not getattr(known, "files", None) and self.manifest is not None:
            known = self.manifest
        self.models = models_of(known)
        if added is None and (context or {}).get("project_name", PACKAGE) != PACKAGE:
            self.stop(f"{MACRO}: the config: {NO_TEXT}.")
        config = super().read(text, context, added)
        for name in disabled_datasets(config, _manifest(context), context):
            self.stop(
                f"{MACRO}: dataset '{name}': its model is disabled, and the config"
                " offers it: to switch it off, write 'false' there; if that is what was"
                " changed, call dbt with --no-partial-parse, once."
            )
        return config

    def policies(self, *arguments: Any) -> list[str]:
        """Return the statements that give an engine a dataset's rules."""
        self.models = models_of(self.manifest)
        return super().policies(*arguments)

    def bare_tags(self, *arguments: Any) -> str:
        """Return the query of the columns with tags on which there is no mask."""
        self.models = models_of(self.manifest)
        return super().bare_tags(*arguments)

    def printed(self, *arguments: Any) -> str:
        """Return a rule of a dataset by itself."""
        self.models = models_of(self.manifest)
        return super().printed(*arguments)

    def column_type(self, model: str, column: str) -> str | None:
        """Return a column's type by the documentation of its model; none without one.

        The adapter's manifest has all models in a unit test too, whose own manifest has
        its inputs alone. If two projects have the model, the root project's counts.
        """
        for node in sorted(self.manifest.nodes.values(), key=_is_of_the_product):
            if node.name == model and node.resource_type in ("model", "seed"):
                documented = node.columns.get(column)
                if documented is not None and documented.data_type:
                    return documented.data_type
        return None

    def sources(self, context: Any, added: Any) -> tuple[Source, ...]:
        """Return the macros and files of the documents."""
        manifest, root = _manifest(context), (context or {}).get("project_name")
        taken = getattr(added, "macro", None)
        for sentence in not_taken(manifest, taken):
            self.stop(sentence)
        if not is_noticed(manifest, taken):
            self.stop(
                f"{MACRO}: the config: dbt parsed only what had changed, and does not"
                f" see that '{taken.name}' ({taken.original_file_path}) is new: call"
                " dbt with --no-partial-parse, once."
            )
        return source_of(manifest, root), source_of(manifest, root, taken)


def _manifest(context: Any) -> Any:
    """Return the manifest that a macro's context is made of."""
    return getattr((context or {}).get("ref"), "manifest", None)


def secure_datasets(adapter: BaseAdapter) -> SecureDatasets:
    """Return the reader and planner of the project's config."""
    root = Path(adapter.config.project_root)
    return ProjectDatasets(adapter.get_macro_resolver(), root)


def refuse_grants(adapter: BaseAdapter, sql: str) -> None:
    """Raise if a statement grants what it must not, where the product is installed.

    Whatever sends it: a hook, a model's SQL, an operation, dbt for what `grants` say.
    """
    granted: list[granting.Grant] | None
    try:
        granted = [*granting.grants_of(sql)]
    except granting.UnreadableError:
        granted = None
    manifest = adapter.get_macro_resolver() if granted != [] else None
    if f"macro.{PACKAGE}.{MACRO}" not in getattr(manifest, "macros", {}):
        return
    if granted is None:
        raise DbtRuntimeError(granting.UNREADABLE)

    def told(macro: str) -> Any:
        return adapter.execute_macro(macro, project=PACKAGE)

    graph, config = manifest.flat_graph, told(MACRO)
    objects = told("readers_objects")
    held = installed.granting_of(
        [*graph["nodes"].values(), *graph["sources"].values()],
        config,
        is_clone=manifest.metadata.project_name == PACKAGE,
        readers_schema=objects.schema,
        functions=objects.functions(),
    )
    if refusal := held.refusal(granted, objects.have_views):
        raise DbtRuntimeError(refusal)


def models_of(manifest: Any) -> Models:
    """Return the models and seeds that dbt has found, with their documented columns.

    While dbt parses, it has read all files, and knows no other model's columns yet. A
    unit test has a manifest of its own, without files and with its inputs alone.
    """
    files = getattr(manifest, "files", None) or {}
    columns: dict[str, dict[str, str | None]] = {}
    documented: dict[str, dict[str, str | None]] = {}
    tagged: dict[str, dict[str, frozenset[str]]] = {}
    # If the product and the root project have one name, the root project's counts.
    for file in sorted(files.values(), key=_is_of_the_root):
        kind = getattr(getattr(file, "parse_file_type", None), "value", None)
        if kind in ("model", "seed", "snapshot"):
            columns.setdefault(Path(file.path.relative_path).stem, {})
        for part in ("models", "seeds", "snapshots"):
            for entry in (getattr(file, "dfy", None) or {}).get(part) or ():
                if isinstance(entry, dict) and "name" in entry:
                    said = {
                        column["name"]: column
                        for column in entry.get("columns") or ()
                        if isinstance(column, dict) and "name" in column
                    }
                    documented[entry["name"]] = {
                        name: column.get("data_type") for name, column in said.items()
                    }
                    tagged[entry["name"]] = {
                        name: found
                        for name, column in said.items()
                        if (found := tags.of_column(column))
                    }
    # A snapshot's file may have another name.
    for node in getattr(manifest, "nodes", {}).values():
        if node.resource_type in ("model", "seed", "snapshot"):
            columns.setdefault(node.name, {})
    return Models(columns | documented, is_known=bool(files), tags=tagged)


def disabled_datasets(
    config: dict[str, Any], manifest: Any, context: Any
) -> Iterator[str]:
    """Yield the product's datasets that the config offers and dbt does not build.

    While dbt parses it does not know yet.
    """
    disabled = getattr(manifest, "disabled", None) or {}
    for name in config["datasets"] if (context or {}).get("execute") else ():
        if f"model.{PACKAGE}.{plan.PREFIX}{name}" in disabled:
            yield name


def _is_of_the_product(node: Any) -> bool:
    return node.package_name == PACKAGE


def _is_of_the_root(file: Any) -> bool:
    return getattr(file, "project_name", PACKAGE) != PACKAGE
