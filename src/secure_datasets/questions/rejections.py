"""The sentences about rows that do not count.

Staging gives the reason as a code, and the rejected delivery. A sentence shows only the
wrong value and the ids that the delivery names, since the delivery may hold e-mail
addresses.
"""

from __future__ import annotations

import json
import re
from typing import Any

from secure_datasets.config.plan import trimmed
from secure_datasets.questions.notes import Facts

# People choose names: a long one would hide the rest of the sentence.
LONGEST = 60
# The columns, beside ids, that show the subject of a delivery and whether it revokes.
NAMING = ("name", "role_name", "is_active")
# The values that a feed can declare, by their form.
SETTINGS = tuple(
    (kind, re.compile(form, re.IGNORECASE), setting)
    for kind, form, setting in (
        (
            "date",
            r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
            "timestamps: iso",
        ),
        ("date", r"-?\d{9,10}", "timestamps: epoch_seconds"),
        ("date", r"-?\d{12,13}", "timestamps: epoch_millis"),
        ("date", r"-?\d{15,16}", "timestamps: epoch_micros"),
        ("is", "t|y", "true: [{}]"),
        ("is", "f|n", "false: [{}]"),
    )
)


def shown(value: Any) -> str:
    """Return a delivered value in quotes, cut if it is long."""
    text = str(value)
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}..."
    return f"'{text}'"


def delivered(row: Facts | None) -> dict[str, str | None]:
    """Return the delivery that staging rejected, by column; of others nothing.

    Values are trimmed; a value of white space alone is null.
    """
    raw = json.loads((row or {}).get("raw_row") or "{}")
    return {name: trimmed(value or "") or None for name, value in raw.items()}


def flaw_of(reason: str, table: str, raw: dict[str, str | None]) -> str:
    """Return why a row is rejected, with the wrong value from `raw`."""
    word, _, column = reason.partition(" ")
    value = raw.get("role_name" if reason == "role" else column)
    if reason == "unreadable id" and "id" in raw and value is None:
        return "its id is empty"
    if word == "unreadable":
        setting = setting_for(column, value or "")
        return f"its {column}{f' {shown(value)}' if value else ''} can't be read" + (
            f": vars: {{feeds: {{{table}: {{reads: {{{setting}}}}}}}}} would read it"
            if setting
            else ""
        )
    if word == "missing":
        return f"its {column} is empty"
    if reason == "conflict":
        return "two or more equally new deliveries say different things"
    if reason == "holder":
        return _holder(raw)
    if reason == "role":
        return _role(table, value)
    if reason in ("context", "context key"):
        value = raw.get("context")
        context = f"context {shown(value)}" if value else "context"
        if reason == "context":
            return f"its {context} is none of those known"
        return f"it names no object for its {context}"
    return reason


def setting_for(column: str, value: str) -> str | None:
    """Return the declaration of a feed that reads a value, if staging can't read it."""
    kind = "is" if column.startswith("is_") else "date" if "date" in column else None
    for of_kind, form, setting in SETTINGS:
        if kind == of_kind and form.fullmatch(value):
            return setting.format(value)
    return None


def named_in(raw: dict[str, str | None]) -> str:
    """Return the holder and object that a delivery names, as delivered."""
    return ", ".join(
        f"{name} {shown(value)}"
        for name, value in raw.items()
        if value and (name.endswith("_id") or name in NAMING)
    )


def _holder(raw: dict[str, str | None]) -> str:
    if raw.get("user_id") and raw.get("user_group_id"):
        return "it names both a user and a group"
    return "it names neither a user nor a group"


def _role(table: str, role: str | None) -> str:
    if table == "user_global_roles":
        return (
            f"its role {shown(role)} is no global role of the seed role_permissions"
            if role
            else "it names no role"
        )
    objects = f"{table.removesuffix('_permissions').replace('_', ' ')}s"
    if not role:
        return f"it names no role, and for {objects} one is needed"
    return (
        f"its role {shown(role)} is none that the seed role_permissions knows for"
        f" {objects}"
    )


def rejected(row: Facts, table: str) -> str:
    """Return the sentence that a row is rejected, with the reason."""
    reason = row.get("rejection_reason") or row["reason"]
    return f"rejected: {flaw_of(reason, table, delivered(row))}"


def switched_off(row: Facts) -> str:
    """Return the sentence that a row is gone or not active, and since when."""
    if since := row.get("undelivered_since"):
        return undelivered(since)
    if row.get("is_deleted"):
        return deleted(row)
    if row.get("is_live_in_its_time"):
        limits = {"from": row.get("valid_from"), "until": row.get("valid_until")}
        return out_of_time(" ".join(f"{k} {at}" for k, at in limits.items() if at))
    date = row.get("since") or row.get("date_modified")
    when = (
        f"last changed {date}" if date else "when it was last changed is not recorded"
    )
    return f"switched off, {when}, {by(row.get('changed_by', row.get('modified_by')))}"


def out_of_time(time: str) -> str:
    """Return the sentence that a row is outside its time."""
    return f"outside its time, {time} UTC"


def deleted(row: Facts) -> str:
    """Return the sentence that the feed deleted a row, and when."""
    date = row.get("since") or row.get("deleted_on")
    return f"deleted on {date}" if date else "deleted, when is not recorded"


def undelivered(since: str) -> str:
    """Return the sentence that a row is missing since the version before."""
    return f"no longer delivered since {since}"


def created(row: Facts) -> str:
    """Return since when a row that does not count exists, and its author."""
    date, author = row["date_created"], row["created_by"]
    when = f"created {date}" if date else "when it was created is not recorded"
    return f"{when}, {by(author)}"


def by(author: str | None) -> str:
    """Return the author of a row."""
    return f"by {author}" if author else "by whom is not recorded"


def flaw_of_staged(row: Facts, table: str) -> str | None:
    """Return the flaw of a staged row itself: rejected or switched off."""
    if row["rejection_reason"]:
        return rejected(row, table)
    return None if row["is_live"] else switched_off(row)
