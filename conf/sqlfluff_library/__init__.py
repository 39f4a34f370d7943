"""Stands for what dbt gives to Jinja, so that sqlfluff renders without dbt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import yaml
from jinja2 import pass_context
from jinja2.runtime import Context

from secure_datasets.macro_methods import SecureDatasets
from secure_datasets.render.privileges import Privileges

PROJECT = Path(__file__).resolve().parents[2] / "dbt_project.yml"
# It is loaded anew for each file that is rendered.
PROJECT_VARS = yaml.load(PROJECT.read_text(encoding="utf-8"), yaml.CSafeLoader)["vars"]


class exceptions:
    """`exceptions.raise_compiler_error` stops the rendering, as in dbt."""

    @staticmethod
    def raise_compiler_error(message: str) -> NoReturn:
        raise ValueError(message)


class adapter:
    """What macros ask of the adapter that needs no Spark."""

    @staticmethod
    def check_package(_: str) -> None:
        """Find nothing wrong: nothing is installed."""

    @staticmethod
    def product_version() -> str:
        """Return a version: nothing is installed."""
        return "0.0.0"

    @staticmethod
    def secure_datasets() -> SecureDatasets:
        """Return the reader of the config, as in dbt."""
        return SecureDatasets()

    @staticmethod
    def privileges(*given: Any) -> Privileges:
        """Return the privileges of a project, as in dbt."""
        return Privileges(*given)

    @staticmethod
    def dispatch(*_: str) -> None:
        """Return the macro of a root project that adds to the config: none."""

    @staticmethod
    def find_leaks(_: dict) -> list[list[str]]:
        """Return the leaks of an empty graph, which has none."""
        return []


class flags:
    """`flags.INTROSPECT`: there is no metastore to ask."""

    INTROSPECT = False


class target:
    """`target.schema`."""

    schema = "secure_datasets"


def var(name: str, default: Any = None) -> Any:
    """Return a variable of dbt_project.yml, as dbt does."""
    return PROJECT_VARS.get(name, default)


def config(**_: Any) -> str:
    """Render nothing: the configuration of a model is no SQL."""
    return ""


# What names are known is dbt's to check.
context = None
# An empty graph, as dbt has it while it parses.
graph = SimpleNamespace(nodes={}, sources={})
execute = True


class _Package(dict):
    """The package's macros by its name, which are those that the linter has loaded."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        @pass_context
        def call(context: Context, *arguments: Any, **named: Any) -> Any:
            return context.resolve(name)(*arguments, **named)

        return call


secure_datasets = _Package()
