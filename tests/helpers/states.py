"""What the raw tables deliver from one run to the next: rights and objects that move.

Each state is the sample with its objects and rights moved about together: who may see
an object changes, and so does its project or data source. A row of one state seen with
the rights of another is therefore mostly a row that neither of the two gives.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

from comparison import comparable
from oracle.contract import COLUMNS, TABLES, World, evaluate, read_world
from projects import ROOT

RAW_SCHEMA = "delivered"
STATES = 3
# The tables in which a project or a data source of one state becomes another.
MOVED = {
    "project_id": ("project_permissions", "tests", "jobs"),
    "meta_data_source_id": ("data_source_permissions", "meta_schemas"),
}
NUMBER_MOVED = {"project_id": 5, "meta_data_source_id": 5}
READ_BY_USER = [
    name
    for name in COLUMNS
    if name.startswith("vw_secure_") and "user_id" in COLUMNS[name]
]


def state(number: int) -> World:
    """Return a state's world: the first objects rotated, and fewer members."""
    world = read_world(ROOT / "seeds" / "repository")
    for column, tables in MOVED.items():
        count = NUMBER_MOVED[column]
        moved = {
            str(1 + place): str(1 + (place + number) % count) for place in range(count)
        }
        for table in tables:
            for row in world[table]:
                row[column] = moved.get(row[column], row[column])
    members = world["user_group_members"]
    world["user_group_members"] = [
        row for place, row in enumerate(members) if number == 0 or place % 7 != number
    ]
    return world


def deliver(world: World, folder: Path) -> None:
    """Put a world where the raw tables are read from."""
    for table, columns in TABLES.items():
        place = folder / table
        place.mkdir(parents=True, exist_ok=True)
        written = folder / f"{table}.tmp"
        with written.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(columns))
            writer.writeheader()
            writer.writerows(world[table])
        os.replace(written, place / "rows.csv")


def raw_table_statements(folder: Path) -> list[str]:
    """Return the statements that make the raw tables over the folder."""
    statements = [f"create schema if not exists {RAW_SCHEMA}"]
    options = "header 'true', multiLine 'true', escape '\"'"
    for table, columns in TABLES.items():
        names = ", ".join(f"{name} string" for name in columns)
        statements.append(
            f"create table if not exists {RAW_SCHEMA}.{table} ({names})"
            f" using csv options ({options}, path '{folder / table}')"
        )
    return statements


class Answers:
    """What each user must see of each relation in each state."""

    def __init__(self) -> None:
        self.by_state = [evaluate(state(number)).relations for number in range(STATES)]
        access = COLUMNS["vw_secure_user_data_source_access"].index("user_id")
        self.users = sorted(
            {
                row[access]
                for relations in self.by_state
                for row in relations["vw_secure_user_data_source_access"]
            }
        )

    def of(self, number: int, relation: str, user: int | None) -> Counter:
        """Return the rows of a relation, or those that a user reads of it."""
        rows = self.by_state[number][relation]
        if user is None:
            return comparable(rows)
        place = COLUMNS[relation].index("user_id")
        return comparable([row for row in rows if row[place] in (user, None)])
