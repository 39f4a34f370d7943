"""The raw rows that docs/bad-input.md lists, as deliveries."""

from __future__ import annotations

import re

from oracle.contract import TABLES, World
from projects import ROOT

PAGE = (ROOT / "docs" / "bad-input.md").read_text(encoding="utf-8")
DELIVERED = re.compile(r"(?P<column>\w+)=`(?P<value>[^`]*)`")
FIRST_ID = 1000

CLEAN = {
    "is_active": "true",
    "date_created": "2026-01-01 00:00:00",
    "date_modified": "2026-06-01 00:00:00",
    "sf_date_created": "2026-06-02 00:00:00",
    "role_name": "Import",
    "context": "Global",
}
ROLES = {
    "data_source_permissions": "Viewer",
    "report_permissions": "View",
    "user_global_roles": "Global.Admin",
}


def characters(text: str) -> str:
    """Put characters in the place of their numbers."""
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)


def raw_row_lines() -> list[tuple[str, str, str, str]]:
    """Return the lines of the first table: what, raw table, deliveries, outcome."""
    section = PAGE.split("## Raw rows")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [
        tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines
    ]


def deliveries(table: str, text: str, row_id: int) -> list[dict[str, str | None]]:
    """Return the raw rows that a line tells of."""
    rows = []
    for part in text.split(" / "):
        row = dict.fromkeys(TABLES[table]) | {
            name: value for name, value in CLEAN.items() if name in TABLES[table]
        }
        row |= {name: "1" for name in row if name.endswith("_id")}
        if "user_group_id" in row and table.endswith("permissions"):
            row["user_group_id"] = None
        if table in ROLES:
            row["role_name"] = ROLES[table]
        row["id"] = str(row_id)
        for column, value in DELIVERED.findall(part):
            row[column] = characters(value) or None
        rows.append(row)
    return rows


def bad_world(first_id: int = FIRST_ID) -> World:
    """Return the deliveries of all lines, each line under an id of its own."""
    world: World = {table: [] for table in TABLES}
    for number, (_, table, text, _) in enumerate(raw_row_lines()):
        world[table] += deliveries(table, text, first_id + number)
    return world
