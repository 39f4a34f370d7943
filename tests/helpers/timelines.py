"""Timelines as the oracle has them, and worlds whose rows come in a few nights."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from oracle.contract import AccessChange, World, load_time

FIRST_NIGHT = datetime(2026, 6, 1, 2, 0)
NIGHTS = 12
# The tiers of the product; the oracle knows no other.
TIERS = ("data_source", "project", "results")


def in_nights(world: World) -> World:
    """Let a loader bring all deliveries in a few nights, as it mostly does.

    Then rows of several tables change at one moment.
    """

    def night(time: datetime) -> str:
        chosen = random.Random(str(time)).randrange(NIGHTS)
        return str(FIRST_NIGHT + timedelta(days=chosen))

    return {
        table: [
            row | {"sf_date_created": night(time)} if (time := load_time(row)) else row
            for row in rows
        ]
        for table, rows in world.items()
    }


def as_known(changes: Iterable[Mapping]) -> dict[AccessChange, set]:
    """Return changes as the oracle has them, each with the rows that made it."""
    found = {}
    for change in changes:
        if change["tier"] not in TIERS:
            continue
        ids = {one["key"]: one["id"] for one in change["objects"]}
        key = (change["tier"], change["user_id"])
        key += (ids.get("meta_data_source_id"), ids.get("project_id"))
        known = AccessChange(
            change["at"] and datetime.fromisoformat(change["at"]),
            key,
            change["change"] != "gained",
            change["change"] != "lost",
            change["carried_before"],
            change["carried"],
        )
        assert known not in found
        found[known] = {(r["table"], r["id"], r["effect"]) for r in change["rows"]}
    return found
