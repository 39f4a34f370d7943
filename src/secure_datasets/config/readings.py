"""How the columns of raw tables are read, by their types and feeds. Loads no parser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LOADED = "sf_date_created"
# The columns with the limits of a right's time.
LIMITS = ("valid_from", "valid_until")
FLAG = "flag"
# The epochs that times may be written as, each with its numbers per second.
EPOCHS = {"epoch_seconds": 1, "epoch_millis": 1_000, "epoch_micros": 1_000_000}
NUMBERS = ("tinyint", "smallint", "int", "bigint", "decimal")
TEXTS = ("string", "char", "varchar", "void")
FRACTIONS = ("float", "double")
LOCAL_TIMES = ("timestamp_ntz", "date")
TIMES = ("timestamp", *LOCAL_TIMES)
WHOLE = re.compile(r"decimal\(\d+,\s*0\)")
# The readings that skip the conversion to text; a type without one is read as text.
READINGS = {
    "bigint": dict.fromkeys(("tinyint", "smallint", "int"), "wider")
    | {"bigint": "same", "decimal": "whole", "double": "whole double"},
    "boolean": dict.fromkeys((*NUMBERS,), "flag") | {"boolean": "same"},
    "timestamp": {"timestamp": "moment", "timestamp_ntz": "local", "date": "day"},
    "decimal": dict.fromkeys(NUMBERS, "number"),
}


def readings_of(
    columns: Mapping[str, str] | None,
    feed: Mapping[str, Any] | None,
    table: Mapping[str, Any],
) -> dict[str, str]:
    """Return the reading of each column of a raw table by its type.

    columns  the raw table's columns with their types, from the metastore

    A column that is text, or that a feed rewrites as text, is left out.
    """
    there = {name.lower(): kind.lower() for name, kind in (columns or {}).items()}
    found: dict[str, str] = {}
    for column, wanted in table["columns"].items():
        called = feed["sources"][column] if feed else column
        kind = there.get(str(called).lower(), "")
        plain = kind.partition("(")[0]
        if feed and _is_rewritten(feed, column, wanted, plain):
            continue
        readings = READINGS.get(wanted.partition("(")[0], {})
        reading = readings.get(plain)
        if reading == "whole" and WHOLE.fullmatch(kind):
            reading = "number"
        if reading:
            found[column] = reading
    return found


def rewritten_by(feed: Mapping[str, Any], column: str, wanted: str) -> str | None:
    """Return how a feed rewrites a column as text: a format of times, or `flag`."""
    reads = feed["reads"]
    if feed["has_clock"] and column == LOADED:
        return feed["moment_in"]
    if wanted == "timestamp":
        return reads["timestamps"]
    return FLAG if wanted == "boolean" and (reads["true"] or reads["false"]) else None


def _is_rewritten(feed: Mapping[str, Any], column: str, wanted: str, kind: str) -> bool:
    """Whether a feed rewrites a column of a raw type as text."""
    if not rewritten_by(feed, column, wanted):
        return False
    is_clock = feed["has_clock"] and column == LOADED
    return is_clock or kind not in (TIMES if wanted == "timestamp" else ("boolean",))
