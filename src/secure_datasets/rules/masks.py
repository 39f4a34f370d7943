"""The rows that a mask covers, and the meaning of null."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from secure_datasets.sql.writing import indented


def mask_condition(rule: Mapping[str, Any]) -> str:
    """Return whether a mask covers a row.

    By its condition and, without `mask_on_null: pass`, where that is null. It is no `is
    not false`, which would miss the null of an `in (select ...)`.
    """
    covers = f"({rule['condition']})"
    return f"(not {covers}) is not true" if rule["mask_on_null"] == "mask" else covers


def shown_by_none(lines: Iterable[str]) -> str:
    """Return whether no line of a mask's `shown_to` is true; a null shows nothing."""
    either = "\nor ".join(lines)
    return f"(\n    {indented(either)}\n) is not true"
