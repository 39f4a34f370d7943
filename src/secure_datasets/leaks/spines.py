"""Compiles dbt's date_spine() without the query for its length.

dbt asks the engine how many days a spine has, and writes that number into the text: it
differs between runs where a spine ends today. The number decides how many rows a
relation of literals has, and nothing else, if a text prints the spine where it stands
and does not look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from dbt.contracts.graph.manifest import Manifest
from dbt_common.clients.jinja import get_environment
from jinja2 import nodes

from dbt_secure_spark.macros import PACKAGE as ADAPTER
from secure_datasets.config.plan import PACKAGE
from secure_datasets.leaks.understood import is_of_a_row

SPINE, LENGTH = "date_spine", "get_intervals_between"
# The packages with this macro: dbt_utils has a copy of dbt's own.
WITH_SPINES = ("dbt", "dbt_utils")
# The packages with known macros for relations: dbt's, its adapters' for Spark, and the
# product's.
TRUSTED = {"dbt", "dbt_spark", "dbt_databricks", ADAPTER, PACKAGE}
# Any length will do: the series of literals has the same columns.
A_LENGTH = 2
# The names that dbt's macros take for its own, besides the macros that they call.
OF_DBT = {
    *("adapter", "exceptions", "load_result", "range", "return", "store_result"),
    *WITH_SPINES,
}
# The names that lead to every macro.
HIDES = {"builtins", "context", "context_macro_stack", "self", *WITH_SPINES}
# A package's macros are a dict, whose own methods find and replace them by any name.
OF_DICTS = {*dir(dict)}


def are_only_printed(code: str) -> bool:
    """Whether a template prints each of its spines, and nothing looks at one."""
    tree = get_environment(None).parse(code)
    printed = [
        part.node
        for part in _printed(tree.body)
        if isinstance(part, nodes.Call) and _is_spine(part.node)
    ]
    attributes = list(tree.find_all(nodes.Getattr))
    texts = [const.value for const in tree.find_all(nodes.Const)]
    names = [name for name in tree.find_all(nodes.Name) if name.name == SPINE]
    named = [each for each in attributes if each.attr == SPINE]
    owners = {id(each.node) for each in attributes if each.attr not in OF_DICTS}
    return len(printed) == len(names) + len(named) + texts.count(SPINE) and not any(
        name.name in HIDES and not (name.name in WITH_SPINES and id(name) in owners)
        for name in tree.find_all(nodes.Name)
    )


def _printed(parts: Iterable[nodes.Node]) -> Iterator[nodes.Node]:
    """Yield the values that a template prints into its own text."""
    for part in parts:
        if isinstance(part, nodes.Output):
            yield from part.nodes
        elif isinstance(part, nodes.If):
            yield from _printed([*part.body, *part.elif_, *part.else_])
        elif isinstance(part, nodes.For) and not part.recursive:
            yield from _printed([*part.body, *part.else_])


def _is_spine(called: nodes.Node) -> bool:
    if isinstance(called, nodes.Getattr):
        owner = called.node
        is_of_package = isinstance(owner, nodes.Name) and owner.name in WITH_SPINES
        return is_of_package and called.attr == SPINE
    return isinstance(called, nodes.Name) and called.name == SPINE


def are_of_dbt(manifest: Manifest) -> bool:
    """Whether all macros that make a spine are dbt's own, or copies of them."""
    macros = manifest.macros
    waiting, seen = [f"macro.dbt.{SPINE}"], set()
    while waiting:
        key = waiting.pop()
        if key in macros and key not in seen:
            seen.add(key)
            waiting += macros[key].depends_on.macros
    called = {_without_prefix(macros[key].name) for key in seen} | OF_DBT
    own = {_plain(m.macro_sql) for m in macros.values() if m.package_name == "dbt"}
    return all(
        macro.package_name in TRUSTED
        or _without_prefix(macro.name) not in called
        or (macro.package_name in WITH_SPINES and _plain(macro.macro_sql) in own)
        for macro in macros.values()
    )


def _without_prefix(name: str) -> str:
    """Return a macro's name without the prefix of an adapter."""
    return name.split("__")[-1]


def _plain(code: str) -> str:
    """Return a macro's code without spaces and comments, as if it were dbt's."""
    tokens = get_environment(None).lex(code)
    text = "".join(text for _, kind, text in tokens if "comment" not in kind)
    text = text.replace('"', "'").replace("'dbt_utils'", "'dbt'")
    return "".join(text.replace("dbt_utils.", "dbt.").split())


class Spines:
    """dbt's macros in the context of one text, with a spine of a fixed length."""

    def __init__(self, context: Mapping[str, Any], code: str) -> None:
        self.stack = context["context_macro_stack"]
        self.code = code
        self.is_printing = False

    def replace_in(self, names: dict[str, Any]) -> None:
        """Replace the macros among the names of a context or a package."""
        for name, replaced in ((SPINE, self.spine), (LENGTH, self.length)):
            if name in names:
                names[name] = replaced(names[name])

    def spine(self, macro: Callable[..., str]) -> Callable[..., str]:
        """Return the macro of a spine; it has a fixed length where it is printed."""

        def call(datepart: str, start_date: str, end_date: str) -> str:
            dates = (start_date, end_date)
            # A macro that calls it could look at it.
            self.is_printing = (
                self.stack.depth == 0
                and all(map(_is_fixed, dates))
                and are_only_printed(self.code)
            )
            try:
                return macro(datepart, *dates)
            finally:
                self.is_printing = False

        return call

    def length(self, macro: Callable[..., Any]) -> Callable[..., Any]:
        """Return the macro of a spine's length: it reads rows outside of a spine."""

        def call(*arguments: Any, **options: Any) -> Any:
            return A_LENGTH if self.is_printing else macro(*arguments, **options)

        return call


def _is_fixed(date: str) -> bool:
    """Whether a date of a spine reads no row: a row may have the dates of its user."""
    return "--" not in date and "/*" not in date and is_of_a_row(date)
