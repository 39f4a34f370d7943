"""A staged raw table: the newest delivery of each id, read and judged."""

from __future__ import annotations

from typing import Any

from secure_datasets.config.readings import LIMITS
from secure_datasets.render.staging.deliveries import (
    Raw,
    delivery_as_json,
    read_deliveries,
    read_id,
    sql_file,
)
from secure_datasets.render.staging.order import (
    TIMES,
    Facts,
    newest_first,
    numbered,
    recency_keys,
)
from secure_datasets.render.staging.reading import (
    EXACT,
    ascii_lower,
    delivered_text,
    trimmed_text,
)
from secure_datasets.sql.expressions import sql_name
from secure_datasets.sql.writing import indented

# A period without a beginning or an end.
ALWAYS = ("timestamp '0001-01-01 00:00:00Z'", "timestamp '9999-12-31 23:59:59.999999Z'")
LISTED = ",\n        "


def staged(
    raw: Raw, until: Any = None, is_history: bool = False, roles: Any = None
) -> str:
    """Return one row per id, and one for each delivery whose id can't be read.

    A rejected row keeps its id and nothing else, so that it can't grant anything.

    until       the moment until which deliveries were loaded; None for all
    is_history  whether there is one row per id and moment at which the newest delivery
                changed: `since`, in microseconds of UTC. A delivery without a load time
                exists from the beginning, the smallest number.
    roles       the relation of the role table
    """
    # Deliveries with the same id compete; over time, those with id and moment.
    rivals = ["id", "since"] if is_history else ["id"]
    steps = [read_deliveries(raw, until=until)]
    if raw.table["object_type"]:
        steps.append(_known_roles(raw.table, roles))
    if is_history and raw.feed.get("snapshots"):
        steps.append(_rows_of_snapshots(raw.feed))
    elif is_history:
        keys = f"struct({', '.join(recency_keys(raw.feed))})"
        steps.append(sql_file("contenders", keys=keys))
    steps.append(_ranked(raw.feed, rivals, "contenders" if is_history else "dated"))
    steps.append(_typed(raw, rivals))
    steps.append(f"""judged as (

    select
        *,
        {indented(rejection_reason(raw), 8)} as rejection_reason
    from typed

)""")
    listed = ",\n\n".join(steps)
    return f"with {listed}\n\n{_told(raw, is_history)}"


def key_of_delivery(raw: Raw) -> str | None:
    """Return the id of one of `raw_rows`, as staged; None if others' rows matter, too.

    A staged row depends on the raw rows of its id alone, but for feeds in which a load
    deletes what it lacks, an update pairs two rows, or a period follows another.
    """
    feed = raw.feed
    kind, called = feed.get("kind", "appended"), feed.get("sources", {}).get("id", "id")
    if kind not in ("appended", "log") or feed.get("before_when") or not called:
        return None
    return read_id(f"raw_rows.{sql_name(called)}", raw.readings)


def _known_roles(table: Facts, roles: Any) -> str:
    """Return the step with the roles that the role table knows for a table's objects."""
    return f"""known_roles as (

    -- A role that carries several permissions has a row for each.
    select distinct
        role_name,
        true as is_known,
        {ascii_lower("role_name")} as role_key
    from {roles}
    where object_type = '{table["object_type"]}'

)"""


def _rows_of_snapshots(feed: Facts) -> str:
    """Return the rows of each snapshot, and the deletions between snapshots."""
    orders = ["modified_order", "loaded_order", *numbered(feed, "position_order")]
    moments = [kept["since"] for kept in feed["snapshots"]]
    followers = [*moments[1:], "cast(null as bigint)"]
    return sql_file(
        "snapshots_of_current",
        next_snapshot="".join(
            f"\n            when {moment} then {follower}"
            for moment, follower in zip(moments, followers, strict=True)
        ),
        orders=",\n".join(orders),
        no_orders=",\n".join(f"null as {order}" for order in orders),
    )


def _ranked(feed: Facts, rivals: list[str], step: str) -> str:
    """Return the step with the deliveries, numbered from the newest among rivals."""
    deleted = ["is_deleted"] if feed.get("deletes") else []
    return sql_file(
        "ranked",
        columns=",\n".join([", ".join(rivals), "delivery", *deleted, *TIMES]),
        step=step,
        rivals=", ".join(rivals),
        newest_first=newest_first(feed),
    )


def _typed(raw: Raw, rivals: list[str]) -> str:
    """Return the step with the values of the newest deliveries in the table's types."""
    table, columns = raw.table, [", ".join(rivals), "delivery", "is_conflict"]
    if raw.feed.get("deletes"):
        columns.append("is_deleted")
    for column in table["columns"]:
        if column in TIMES:
            columns.append(column)
        elif column != "id":
            columns.append(f"{_staged_value(raw, column)} as {column}")
    roles = ""
    if table["object_type"]:
        columns.append("known_roles.is_known is not null as is_known_role")
        name = ascii_lower(trimmed_text("delivery.role_name"))
        roles = (
            f"\n    left join known_roles\n        on {name} <=> known_roles.role_key"
        )
    return f"""typed as (

    select
        {LISTED.join(columns)}
    from ranked{roles}
    -- A delivery whose id can't be read competes with no other.
    where delivery_number = 1 or id is null

)"""


def _staged_value(raw: Raw, column: str) -> str:
    """Return the value of a staged column: typed, names in the contract's spelling."""
    if column == "role_name":
        return "known_roles.role_name"
    if column != "context" or not raw.table["context"]:
        return raw.value(column)
    contexts = "".join(
        f"\n            when '{context.lower()}' then '{context}'"
        for context in raw.table["context"]
    )
    return f"""case {ascii_lower(trimmed_text("delivery.context"))}{contexts}
        end"""


def rejection_reason(raw: Raw) -> str:
    """Return the first reason to reject a newest delivery; null if it is valid."""
    table, reasons = raw.table, [("id is null", "'unreadable id'")]
    if raw.feed.get("deletes"):
        reasons.append(("is_deleted", "null"))
    reasons.append(("is_conflict", "'conflict'"))
    for column, kind in table["columns"].items():
        is_text = column == "id" or kind == "string"
        if not is_text and raw.readings.get(column) not in EXACT:
            is_unread = f"{column} is null and {raw.is_filled(column)}"
            reasons.append((is_unread, f"'unreadable {column}'"))
    for column in table["required"]:
        reasons.append((f"{column} is null", f"'missing {column}'"))
    if table["holder"]:
        user, group = table["holder"]
        reasons.append((f"({user} is null) = ({group} is null)", "'holder'"))
    if table["object_type"]:
        reasons.append(("not is_known_role", "'role'"))
    if table["context"]:
        reasons.append(("context is null", "'context'"))
    for context, key in (table["context"] or {}).items():
        if key:
            is_without = f"context = '{context}' and {key} is null"
            reasons.append((is_without, "'context key'"))
    cases = "".join(f"\n    when {when} then {then}" for when, then in reasons)
    return f"case{cases}\nend"


def _told(raw: Raw, is_history: bool) -> str:
    """Return the staged rows: a rejected or deleted row has no values."""
    table, limits = raw.table, zip(LIMITS, ALWAYS, ("from", "until"), strict=True)
    is_told, deleted, deleted_on = "rejection_reason is null", "false", None
    if raw.feed.get("deletes"):
        deleted = f"{is_told} and is_deleted"
        deleted_on = f"case when {deleted} then sf_date_created end"
        is_told += " and not is_deleted"
    raw_id = "delivery.id"
    if "id" in raw.readings:
        raw_id = delivered_text(raw_id, "bigint", raw.readings["id"])
    columns = [
        f"id as {table['key']}",
        *(
            f"case when {is_told} then {column} end as {column}"
            for column in table["columns"]
            if column not in ("id", "is_active", "sf_date_created")
        ),
        f"{is_told} and coalesce(is_active, false) as is_live",
        "rejection_reason",
        f"case when rejection_reason is not null then {raw_id} end as raw_id",
        f"""case
        when rejection_reason is not null then {delivery_as_json(raw)}
    end as raw_row""",
        f"{deleted} as is_deleted",
        f"{deleted_on or 'cast(null as timestamp)'} as deleted_on",
        "sf_date_created",
    ]
    for limit, always, name in limits if table["holds_for_a_time"] else ():
        held = f"coalesce({limit}, {always})" if limit in table["columns"] else always
        columns.append(f"{held} as holds_{name}")
    if is_history:
        columns.append("since")
    listed = ",\n    ".join(columns)
    return f"select\n    {listed}\nfrom judged"
