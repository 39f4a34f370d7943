"""A timeline for people, and as one document."""

from __future__ import annotations

import json
from typing import Any

Facts = dict[str, Any]
HEADERS = ["when", "user", "tier", "object", "change", "access type", "by"]


def as_lines(found: Facts) -> tuple[list[str], list[list[str]], list[str]]:
    """Return the lines above the table of changes, its rows, and the lines below."""
    above = [called(one) for one in found["asked"]]
    above.append("By load times in UTC and the definitions of today.")
    if since := found.get("told_since"):
        known = found["known_since"].items()
        tables = ", ".join(f"{name} since {moment}" for name, moment in known)
        above.append(
            f"Told since {since}, from when snapshots of all tables are kept: {tables}."
            " What was there then may have begun before."
        )
    if found["tiers_not_told"]:
        tiers = ", ".join(found["tiers_not_told"])
        above.append(f"Not told, as their access views read past staging: {tiers}.")
    for each in found["types_not_told"]:
        above.append(
            f"Not told: no tier is about a {each}; the rights on it as they are now are"
            " in vw_dataset_effective_user_permissions."
        )
    below = []
    if not found["changes"] and not found["types_not_told"]:
        known = " as far as that is known" if found.get("told_since") else ""
        below.append(f"There has never been any access{known}.")
    if found["left_out"]:
        below.append(f"And {found['left_out']} more changes: raise the limit.")
    return above, [as_row(change) for change in found["changes"]], below


def called(one: Facts) -> str:
    """Return the subject as people call it."""
    return f"{one['type']} {one['id']}, {one['name'] or '(no name)'}"


def as_row(change: Facts) -> list[str]:
    """Return a change as a row of the table."""
    objects = [
        one["name"] or f"{one['key'].removesuffix('_id').replace('_', ' ')} {one['id']}"
        for one in change["objects"]
    ]
    carried = change["carried"] or "-"
    if change["change"] != "gained":
        carried = change["carried_before"] or "-"
    if change["change"] == "changed":
        carried = f"{carried} > {change['carried']}"
    return [
        change["at"] or "from the beginning",
        change["login_name"] or f"user {change['user_id']}",
        change["tier"].replace("_", " "),
        " in ".join(reversed(objects)),
        change["change"],
        carried,
        ", ".join(map(by_row, change["rows"])) or "-",
    ]


def by_row(row: Facts) -> str:
    """Return a raw row, its effect on access, and whether its deletion had it."""
    deleted = " as it is deleted" if row["is_deleted"] else ""
    return f"{row['table']} {row['id']} {row['effect']}{deleted}"


def as_document(question: Facts, found: Facts) -> str:
    """Return a timeline as one JSON document."""
    asked = {question["kind"]: question["asked"]}
    return json.dumps({"question": asked, **found}, indent=2)
