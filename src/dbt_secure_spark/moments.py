"""Moments in UTC, as people write them. Knows neither dbt nor Spark."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from typing import Any

DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(
    DAY.pattern + r"[ T]([01][0-9]|2[0-3])(:[0-9]{2}){2}(\.[0-9]{1,6})?"
)

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)


def micros_of(moment: datetime) -> int:
    """Return a moment in UTC, without its zone, in microseconds since 1970."""
    return (moment - EPOCH) // MICROSECOND


def now() -> datetime:
    """Return the present moment in UTC, without its zone."""
    return datetime.now(timezone.utc).replace(tzinfo=None)


def moment(value: Any) -> datetime | None:
    """Read a moment in UTC; a day is its beginning. None for anything else.

    YAML reads a time without quotes as one.
    """
    if isinstance(value, str):
        if not (DAY.fullmatch(value) or MOMENT.fullmatch(value)):
            return None
        whole, _, fraction = value.partition(".")
        try:
            read = datetime.fromisoformat(whole)
        except ValueError:
            return None
        return read.replace(microsecond=int(fraction.ljust(6, "0") or 0))
    if isinstance(value, datetime):
        return value if value.tzinfo is None else None
    return datetime(value.year, value.month, value.day) if type(value) is date else None


def is_past(value: Any) -> bool:
    """Say whether a value is a moment that has come."""
    read = moment(value)
    return read is not None and read <= now()
