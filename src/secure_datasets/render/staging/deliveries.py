"""The deliveries of a raw table: the raw rows to read, and the steps that read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from secure_datasets.render.staging.order import (
    TIMES,
    Facts,
    columns_beside,
    delivery_order_key,
    numbered,
    position_order_key,
    was_delivered,
)
from secure_datasets.render.staging.reading import (
    delivered_text,
    is_filled,
    value_read,
)
from secure_datasets.sql.writing import template


def sql_file(name: str, **values: Any) -> str:
    """Return the text of a file of SQL beside this module, with values at its places."""
    return template(__package__ or "", name, str, **values)


@dataclass(frozen=True)
class Raw:
    """A raw table.

    table     its entry in the contract
    feed      its declared feed; empty without one
    readings  how its columns are read by their types; a text has no reading
    rows      the relation that is read
    """

    table: Facts
    feed: Facts = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    rows: Any = None

    def value(self, column: str, kind: str | None = None) -> str:
        """Return a value of the delivery as it is read."""
        kind = kind or self.table["columns"][column]
        return value_read(f"delivery.{column}", kind, self.readings.get(column))

    def is_filled(self, column: str) -> str:
        """Return whether the delivery has a value in a column, readable or not."""
        return is_filled(f"delivery.{column}", self.readings.get(column))


def raw_rows(feed: Facts) -> str:
    """Return the rows of a raw table in all its snapshots."""
    snapshots = "\n            union all".join(
        f"\n            select {', '.join(kept['columns'])},"
        f" cast({kept['since']} as bigint) as feed_snapshot from {kept['rows']}"
        for kept in feed["snapshots"]
    )
    return f"({snapshots}\n        )"


def no_rows(table: Facts) -> str:
    """Return an empty relation, for a raw table that the application does not have."""
    columns = ",".join(
        f"\n            cast(null as string) as {column}" for column in table["columns"]
    )
    return f"(\n        select{columns}\n        where false\n    )"


def read_id(raw: str, readings: Mapping[str, str]) -> str:
    """Return the id of a raw row, as it is read."""
    reading = readings.get("id")
    return value_read(
        raw if reading else delivered_text(raw, "bigint"), "bigint", reading
    )


def delivery_as_json(raw: Raw) -> str:
    """Return the delivery as JSON, for people who look at rejected rows."""
    if not raw.readings:
        return "to_json(delivery, map('ignoreNullFields', 'false'))"
    values = ",".join(
        "\n                "
        + (
            delivered_text(f"delivery.{column}", kind, raw.readings.get(column))
            if column in raw.readings
            else f"delivery.{column}"
        )
        + f" as {column}"
        for column, kind in raw.table["columns"].items()
    )
    return f"""to_json(
            struct({values}
            ),
            map('ignoreNullFields', 'false')
        )"""


def read_deliveries(
    raw: Raw,
    columns: Iterable[str] = (),
    until: Any = None,
    types: Mapping[str, str] | None = None,
) -> str:
    """Return the steps that read all deliveries of a raw table.

    Each query of deliveries begins with them. The last step, `dated`, has one row per
    delivery: the delivery as it came, its id, and the sort keys of deliveries with one
    id.

    columns  further columns, each as it is read
    until    the moment until which deliveries were loaded; None for all
    types    the columns of a delivery with their types, if they are not the table's
    """
    types, feed = types or raw.table["columns"], raw.feed
    beside = columns_beside(feed)
    columns = [*TIMES, *(c for c in columns if c not in ("id", "is_active", *TIMES))]
    delivery = ",".join(
        "\n            "
        + (column if column in raw.readings else delivered_text(column, kind))
        + f" as {column}"
        for column, kind in types.items()
    )
    values = ",".join(
        f"\n        {raw.value(column, types[column])} as {column}"
        for column in columns
    )
    kept = "".join(f",\n        {column}" for column in beside)
    passed = "".join(f"\n        {column}," for column in beside)
    is_there = " and not feed_is_deleted" if feed.get("deletes") else ""
    return f"""source as (

    select * from {raw.rows}

),

deliveries as (

    select
        struct({delivery}
        ) as delivery{kept}
    from source

),

read_keys as (

    select
        delivery,
        {raw.value("id", "bigint")} as id,
        coalesce({raw.value("is_active", "boolean")}, false){is_there} as is_active,{passed}{values}
    from deliveries

),

{_dated(raw, columns, until)}"""


def _dated(raw: Raw, columns: list[str], until: Any) -> str:
    """Return the last step: each delivery with its sort keys."""
    feed = raw.feed
    is_loaded = raw.is_filled("sf_date_created")
    if feed.get("clocked"):
        clocked = "', '".join(feed["clocked"])
        is_loaded += f" and delivery.table_name not in ('{clocked}')"
    deleted = ["feed_is_deleted as is_deleted"] if feed.get("deletes") else []
    shown = list(columns)
    if feed.get("snapshots"):
        shown.remove("sf_date_created")
        shown += ["timestamp_micros(feed_snapshot) as sf_date_created", "feed_snapshot"]
    orders = {
        "modified_order": delivery_order_key(
            "date_modified", raw.is_filled("date_modified")
        ),
        "loaded_order": delivery_order_key(
            "sf_date_created", None if feed.get("has_clock") else is_loaded
        ),
        **{
            order: position_order_key(position)
            for order, position in zip(
                numbered(feed, "position_order"), numbered(feed), strict=True
            )
        },
    }
    shown = ["delivery", "id", "is_active", *deleted, *shown]
    shown += [f"{key} as {order}" for order, key in orders.items()]
    there = ""
    if until is not None:
        there = f"\n    where {was_delivered(feed, 'sf_date_created', until)}"
    listed = ",\n        ".join(shown)
    return f"""dated as (

    select
        {listed}
    from read_keys{there}

)"""
