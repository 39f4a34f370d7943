"""Several random worlds as one, so that one run of the pipeline proves many."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from oracle.contract import GIVING_TABLES, LIMITS, TABLES, World, load_time
from random_worlds import MOMENTS, random_world

DIGITS = re.compile(r"(?<![0-9.])[0-9]+(?![0-9.])", re.ASCII)
PLAIN_ID = re.compile(r"\s*[+-]?[0-9]+\s*")
UNMOVED = {"code_test_evaluation_result_id"}
# A powerful global role reaches the objects of every world: with all of them, a batch
# would grow with the square of its worlds. So only the first few worlds keep theirs.
WORLDS_WITH_POWER = 4
POWERFUL = re.compile(r"global\.(datasource)?admin", re.ASCII | re.IGNORECASE)
POWERLESS = "Global.SecurityAdmin"
# Planning is most of the work, and the same for many worlds as for few.
IN_A_BATCH = 50
# A moment of reading, and limits of rights around it and far from it.
NOW = datetime(2026, 6, 1, 12)
MICROSECOND = timedelta(microseconds=1)
TIMES = (
    *(NOW, NOW - MICROSECOND, NOW + MICROSECOND, NOW - timedelta(days=30)),
    *(NOW + timedelta(days=30), NOW - timedelta(days=300)),
)
# The feeds of a project whose raw tables of rights have limits.
FEEDS_WITH_LIMITS = {
    table: {"columns": {limit: limit for limit in LIMITS}} for table in GIVING_TABLES
}


def limited(world: World, seed: int, times: tuple[datetime, ...] = TIMES) -> World:
    """Return a world whose rights have limits: most have none, and some no readable."""
    draw = random.Random(seed)

    def limit() -> str | None:
        kind = draw.random()
        if kind < 0.5:
            return None
        if kind < 0.53:
            return draw.choice(["soon", "2026-02-30 00:00:00", "1780315200"])
        if kind < 0.58:
            return draw.choice(MOMENTS)
        return str(draw.choice(times))

    return {
        table: [
            row | {name: limit() for name in LIMITS} if table in GIVING_TABLES else row
            for row in rows
        ]
        for table, rows in world.items()
    }


def moved(world: World, place: int) -> World:
    """Give a world's ids a suffix of three digits, so that it meets no other world.

    Spellings such as 007 or +7 keep their form: only what is nothing but an id, as
    delivered, is moved.
    """
    suffix = f"{place:03d}"

    def move(column: str, value: str | None) -> str | None:
        is_id = column == "id" or column.endswith("_id")
        if value is None or not is_id or column in UNMOVED:
            return value
        if not PLAIN_ID.fullmatch(value):
            return value
        return DIGITS.sub(lambda digits: digits[0] + suffix, value)

    return {
        table: [
            {name: move(name, value) for name, value in row.items()} for row in rows
        ]
        for table, rows in world.items()
    }


def without_power(world: World) -> World:
    """Give a world's holders of a powerful global role one that grants nothing."""
    holders = [
        row | {"role_name": POWERFUL.sub(POWERLESS, row["role_name"] or "") or None}
        for row in world["user_global_roles"]
    ]
    return world | {"user_global_roles": holders}


def apart(seeds: Iterable[int], first: int = 1) -> list[World]:
    """Return the worlds of the seeds as they are in a batch, each with ids of its own.

    The last three digits of an id are the world's place, from `first`; in place 0 a
    world keeps its ids.
    """
    worlds = []
    for place, seed in enumerate(seeds, first):
        world = random_world(seed)
        world = moved(world, place) if place else world
        has_power = place - first < WORLDS_WITH_POWER
        worlds.append(world if has_power else without_power(world))
    return worlds


def together(worlds: Iterable[World]) -> World:
    """Return worlds as one."""
    found: World = {table: [] for table in TABLES}
    for world in worlds:
        for table, rows in world.items():
            found[table] += rows
    return found


def batch(seeds: Iterable[int]) -> World:
    """Return the worlds of the seeds as one; the first keeps its ids as they are."""
    return together(apart(seeds, 0))


def moments_of(world: World) -> list[datetime]:
    """Return the load times of a world, each once, in order."""
    times = {load_time(row) for rows in world.values() for row in rows}
    return sorted(time for time in times if time)
