"""Keeps what parsing a project has worked out: the next one shares most texts."""

from __future__ import annotations

import pickle
from typing import Any

from dbt_common.dataclass_schema import dbtClassMixin
from dbt_common.tests import enable_test_caching
from jinja2 import Environment


def parse_texts_once() -> None:
    """Let dbt parse and compile each text of Jinja once, and judge equal data once.

    Each gives the same for the same text and the same data, in any project.
    """
    enable_test_caching()
    compile_text, validate = Environment.compile, dbtClassMixin.validate.__func__
    codes: dict[tuple, Any] = {}
    valid: set[tuple[type, bytes]] = set()

    def compiled(environment, source, name=None, filename=None, raw=False, *rest):
        settings = (type(environment).__name__, *sorted(environment.extensions))
        key = (settings, source, name, filename, raw, *rest)
        if not isinstance(source, str):
            return compile_text(environment, source, name, filename, raw, *rest)
        if key not in codes:
            codes[key] = compile_text(environment, source, name, filename, raw, *rest)
        return codes[key]

    def validated(cls, data: Any) -> None:
        try:
            key = (cls, pickle.dumps(data))
        except Exception:
            return validate(cls, data)
        if key not in valid:
            validate(cls, data)
            valid.add(key)

    Environment.compile = compiled
    dbtClassMixin.validate = classmethod(validated)
