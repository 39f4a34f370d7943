"""The order of the deliveries of one id, and what was there at a moment."""

from __future__ import annotations

from typing import Any

from dbt_secure_spark.moments import moment

Facts = dict[str, Any]
# They decide which delivery is the newest. Reading them is slow, so they are read once.
TIMES = ("date_modified", "sf_date_created")


def numbered(feed: Facts, name: str = "feed_position") -> list[str]:
    """Return a column for each position of a feed."""
    return [f"{name}_{n}" for n, _ in enumerate(feed.get("positions", ()), 1)]


def columns_beside(feed: Facts) -> list[str]:
    """Return the columns of a feed's deliveries that are not in the contract."""
    deleted = ["feed_is_deleted"] if feed.get("deletes") else []
    snapshot = ["feed_snapshot"] if feed.get("snapshots") else []
    return [*deleted, *numbered(feed), *snapshot]


def recency_keys(feed: Facts) -> list[str]:
    """Return the sort keys of deliveries: the newest has the greatest."""
    deletes = ["is_deleted"] if feed.get("deletes") else []
    # Without a moment a deletion is dated like every delivery.
    clock, dates = [], ["modified_order", "loaded_order"]
    if feed.get("has_clock"):
        clock = [dates.pop()]
    last = [*deletes, *dates] if feed.get("has_moment") else [*dates, *deletes]
    return [*clock, *numbered(feed, "position_order"), *last, "not is_active"]


def newest_first(feed: Facts) -> str:
    """Return the `order by` of deliveries, the newest first."""
    keys = (f"{key} desc" for key in recency_keys(feed)[:-1])
    return f"order by {', '.join([*keys, 'is_active asc'])}"


def delivery_order_key(column: str, filled: str | None = None) -> str:
    """Return a delivery's time in microseconds, for finding the newest.

    A delivery without a date must not hide a revocation: an unreadable time is the
    latest; a missing time is the latest on an inactive delivery and the earliest on an
    active one.

    filled  the condition that the delivery has a time, readable or not; None for the
            moment of a feed, which alone orders the deliveries: an unreadable moment
            counts as missing
    """
    unreadable = (
        f"\n            when {filled} then 9223372036854775807" if filled else ""
    )
    return f"""case
            when {column} is not null then unix_micros({column}){unreadable}
            when is_active then -9223372036854775808
            else 9223372036854775807
        end"""


def position_order_key(column: str) -> str:
    """Return the sort key of a position: an unreadable one hides no revocation."""
    most = "9" * 38
    return f"""coalesce(
            {column},
            cast(case when is_active then '-{most}' else '{most}' end as decimal(38, 0))
        )"""


def was_delivered(feed: Facts, loaded: str, as_of: Any) -> str:
    """Return whether a delivery existed at a moment, by its load time.

    A delivery whose load time is missing or unreadable exists from the beginning. A
    feed without history is read as of the moment.

    as_of  the moment, or the relation that has it in its column `at`
    """
    if feed and not feed.get("has_history"):
        return "true"
    at = moment(as_of)
    until = f"timestamp '{at}Z'" if at else f"(select at from {as_of})"
    return f"({loaded} is null or {loaded} <= {until})"


def without_history(feed: Facts, name: str) -> str:
    """Return why a feed has no past, as a sentence."""
    reason = "has neither a clock nor a load time: nothing says what was there when"
    if feed["kind"] == "current":
        reason = (
            "is of the kind 'current': it holds what the application has now and"
            " nothing of any time before"
        )
    return (
        f"the feed of {name} {reason}, so no past state can be told. See"
        " docs/feeds.md of the package for the kinds that have a history."
    )
