"""The packages' names before they were rooms of one package; gone after 0.3."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType


def moved(package: str, *rooms: str, **renamed: str) -> Callable[[str], ModuleType]:
    """Return ``__getattr__`` of an old package, for ``from package import module``."""

    def module(name: str) -> ModuleType:
        for room in rooms:
            place = f"{room}.{renamed.get(name, name)}"
            if not name.startswith("_") and find_spec(place):
                said = f"{package}.{name} is now {place}"
                warnings.warn(said, DeprecationWarning, stacklevel=2)
                return import_module(place)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return module
