"""The project's variables: what each must be, said before anything starts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from dbt.adapters.spark import SparkAdapter
from dbt_common.exceptions import CompilationError

NAME = re.compile(r"[A-Za-z0-9_]+")


# Of numbers: Spark's bigint.
LARGEST = 2**63


def is_number(value: Any) -> bool:
    """Say whether a value is a number; true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # An integer may be too large for what SQL or Python calculates with.
    return abs(value) < LARGEST


def is_schema(value: Any) -> bool:
    """Say whether a value can name a schema."""
    return isinstance(value, str) and bool(NAME.fullmatch(value))


def is_whole(value: Any) -> bool:
    """Say whether a value is a whole number from 0 on."""
    return is_number(value) and value >= 0 and value == int(value)


def is_texts(value: Any) -> bool:
    """Say whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


EXPECTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "raw_schema": (is_schema, "the name of a schema"),
    "sample_schema": (is_schema, "the name of a schema"),
    "loads_sample": (lambda value: isinstance(value, bool), "true or false"),
    "summary": (lambda value: isinstance(value, bool), "true or false"),
    "run_lock_seconds": (
        lambda value: is_number(value) and 1 <= value <= 3600,
        "a number of seconds from 1 to 3600",
    ),
    "rejected_rows_error_threshold": (is_whole, "a whole number from 0 on"),
    "dangling_references_error_threshold": (is_whole, "a whole number from 0 on"),
    "access_stale_error_hours": (
        lambda value: is_number(value) and value >= 0,
        "a number of hours from 0 on",
    ),
    "compute": (lambda value: isinstance(value, str), "a text"),
    "pipeline_role": (lambda value: isinstance(value, str), "a text"),
    "readers": (is_texts, "a list of texts"),
    "roles_may_be_missing": (is_texts, "a list of texts"),
}


def names_of_vars(adapter: SparkAdapter) -> list[str]:
    """Return the variables that `check_vars` knows."""
    return list(EXPECTED)


def check_vars(adapter: SparkAdapter, values: dict[str, Any]) -> None:
    """Raise if one of the variables that are set is not what it must be."""
    for name, value in values.items():
        is_right, kind = EXPECTED[name]
        if not is_right(value):
            raise CompilationError(
                f"The variable {name} is {value!r}; it must be {kind}."
            )


def schema_name(adapter: SparkAdapter, name: Any) -> str:
    """Return a schema's name as the metastore spells it; raise if it can't be one."""
    if not is_schema(name):
        raise CompilationError(
            f"A schema is to be named {name!r}, by sample_schema, by +schema in"
            " dbt_project.yml or by schema in profiles.yml; it must be the name of a"
            " schema: letters, digits and _."
        )
    return name.lower()
