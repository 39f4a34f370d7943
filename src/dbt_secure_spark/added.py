"""What installed packages add to the adapter: methods for macros, checks of statements.

A distribution adds them by an entry point of the group ``dbt_secure_spark``, which
names a module with ``METHODS``, functions of the adapter by the names by which macros
call them, and ``check_statement``, a function of the adapter and of each statement that
is sent, which raises what dbt is to stop with.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from dbt.adapters.base import available
from dbt.adapters.base.meta import AdapterMeta

GROUP = "dbt_secure_spark"


@lru_cache
def modules() -> tuple[ModuleType, ...]:
    """Return the modules that the installed distributions name."""
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return tuple(point.load() for point in points)


def added_methods() -> type:
    """Return a base class of the adapter that has all added methods."""
    methods: dict[str, Any] = {}
    for module in modules():
        twice = methods.keys() & module.METHODS.keys()
        if twice:
            names = ", ".join(sorted(twice))
            raise ImportError(f"two packages add the same methods to dbt: {names}")
        methods |= {name: available(each) for name, each in module.METHODS.items()}
    return AdapterMeta("AddedMethods", (), methods)


def check_statement(adapter: Any, sql: str) -> None:
    """Let each package look at a statement before it is sent."""
    for module in modules():
        module.check_statement(adapter, sql)
