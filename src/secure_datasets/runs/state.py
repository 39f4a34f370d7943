"""The product's part of the published state, from which the command answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dbt.adapters.base import BaseAdapter

from secure_datasets.config.document import ADDED, MACRO
from secure_datasets.config.plan import PACKAGE
from secure_datasets.macro_methods import secure_datasets

Macros = Mapping[str, Callable[..., Any]]
# Variables without a check of their own.
FURTHER = ("feeds", "absent_tables")


def state_document(
    adapter: BaseAdapter, macros: Macros, var: Callable[..., Any]
) -> dict[str, Any]:
    """Return the document: the checked config, raw tables, variables and macros.

    macros  the product's macros, by their names
    var     dbt's function of that name
    """
    config, tables = macros["secure_datasets_config"](), macros["repository_tables"]()
    datasets, names = secure_datasets(adapter), [*adapter.names_of_vars(), *FURTHER]
    return {
        "version": adapter.product_version(),
        "python_part": datasets.python_part(),
        "config": config,
        "places": datasets.places(config),
        "raw_tables": tables,
        "feeds": {name: macros["feed_of"](name) for name in tables},
        "vars": {n: value for n in names if (value := var(n, None)) is not None},
        "macros": adapter.macros_of(PACKAGE),
        "config_files": adapter.files_of_macros([MACRO, ADDED]),
    }


def note_state(adapter: BaseAdapter, macros: Macros, var: Callable[..., Any]) -> None:
    """Hand the document to the run that writes the published state."""
    document = state_document(adapter, macros, var)
    found = {name: macros["version_before"](name) for name in document["raw_tables"]}
    before = {name: version for name, version in found.items() if version}
    adapter.note_document(PACKAGE, document | {"versions_before": before})
