"""Which macros a root project must not have: those by which relations are published.

A macro of the root project comes before that of an adapter of the same name, in every
project and without a word. One that is called so for another purpose would publish, or
end a run, in the place of the adapter's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError

PACKAGE = "dbt_secure_spark"
OWN = "secure_spark__"
# dbt's own on the way to a view.
OF_VIEWS = {
    "create_or_replace_view",
    "create_view_as",
    "get_create_view_as_sql",
    "materialization_view_secure_spark",
    "materialization_view_spark",
}
# Which schema a relation has is the root project's to say.
OF_PROJECTS = {"generate_schema_name"}


def check_macros(adapter: SparkAdapter) -> None:
    """Raise if a macro of the root project would be taken for one of the adapter."""
    macros = adapter.get_macro_resolver().macros.values()
    searched = adapter.config.get_macro_search_order("dbt") or ()
    for macro in replacing(macros, adapter.config.project_name, searched):
        raise CompilationError(
            f"The macro '{macro.name}' of the project '{macro.package_name}'"
            f" ({macro.original_file_path}) would be called in the place of one by"
            " which relations are published with their rights: give it another name,"
            " or take its project out of `dispatch` in dbt_project.yml."
        )


def macros_of(adapter: SparkAdapter, package: str) -> dict[str, str]:
    """Return the texts of a package's macros, by their names."""
    return {
        macro.name: macro.macro_sql
        for macro in adapter.get_macro_resolver().macros.values()
        if macro.package_name == package and not macro.name.startswith("test_")
    }


def files_of_macros(adapter: SparkAdapter, names: list[str]) -> list[dict[str, str]]:
    """Return the files of macros, with what tells whether they were edited since."""
    projects = adapter.config.load_dependencies()
    found = []
    for macro in adapter.get_macro_resolver().macros.values():
        if macro.name in names:
            folder = Path(projects[macro.package_name].project_root)
            text = (folder / macro.original_file_path).read_bytes()
            found.append(
                {
                    "package": macro.package_name,
                    "path": macro.original_file_path,
                    "sha256": hashlib.sha256(text).hexdigest(),
                }
            )
    return found


def replacing(macros: Iterable[Any], root: str, searched: Iterable[str]) -> Iterator:
    """Yield the macros that come before those of the adapter.

    searched  the packages that `dispatch` names, of the namespace dbt
    """
    macros = list(macros)
    own = {macro.name for macro in macros if macro.package_name == PACKAGE}
    # dbt's own macros that ask which adapter's is meant.
    asking = {name.removeprefix(OWN) for name in own if name.startswith(OWN)}
    asking -= OF_PROJECTS
    dispatched = {
        f"{prefix}__{name}"
        for name in asking
        for prefix in ("default", "spark", "secure_spark")
    }
    names = {root: own | OF_VIEWS | asking}
    for package in set(searched) - {"dbt"}:
        names[package] = names.get(package, set()) | dispatched
    for macro in macros:
        if macro.name in names.get(macro.package_name, ()):
            yield macro
