"""When a policy holds: from `valid_from` until `valid_until`, in UTC.

The interval is half-open: the beginning is included, the end is not. A day in
`valid_from` means its first midnight; a day in `valid_until` is included, up to the
midnight that ends it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from dbt_secure_spark.moments import DAY, moment

KEYS = ("valid_from", "valid_until")


def bound(key: str, value: Any) -> datetime | None:
    """Return the moment in `valid_from` or `valid_until`; none if it is no moment."""
    text = str(value)
    read = moment(text.removesuffix("Z") if "T" in text or " " in text else text)
    if read is None or key == "valid_from" or not DAY.fullmatch(text):
        return read
    return _later(read, 1)


def bounds(policy: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the beginning and end of a checked policy: texts without zone, or none."""
    return {
        key: str(bound(key, policy[key])) if key in policy else None for key in KEYS
    }


def later(text: str, days: int) -> str:
    """Return the moment a number of days after a moment."""
    return str(_later(datetime.fromisoformat(text), days))


def _later(read: datetime, days: int) -> datetime:
    try:
        return read + timedelta(days=days)
    except OverflowError:
        return datetime.max


def is_in_time(rule: Mapping[str, Any], clock: str) -> str:
    """Return SQL for whether a rule holds at a clock's moment; empty if always."""
    signs = zip(KEYS, (">=", "<"), strict=True)
    return " and ".join(
        f"{clock} {sign} timestamp '{rule[key]}Z'"
        for key, sign in signs
        if rule.get(key)
    )


def in_words(rule: Mapping[str, Any]) -> str:
    """Return in words when a rule holds; empty if always."""
    words = zip(KEYS, ("from", "until"), strict=True)
    said = [f"{word} {rule[key]}" for key, word in words if rule.get(key)]
    return f"{' '.join(said)} UTC" if said else ""


def overlap(rule: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two rules hold at one moment."""
    return all(
        not (first["valid_until"] and second["valid_from"])
        or first["valid_until"] > second["valid_from"]
        for first, second in ((rule, other), (other, rule))
    )
