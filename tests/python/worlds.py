"""Several random worlds as one, so that one run of the pipeline proves many."""

from __future__ import annotations

import re

from evaluator import TABLES, World
from random_worlds import random_world

DIGITS = re.compile(r"(?<![0-9.])[0-9]+(?![0-9.])", re.ASCII)
PLAIN_ID = re.compile(r"\s*[+-]?[0-9]+\s*")
UNMOVED = {"code_test_evaluation_result_id"}


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


def batch(seeds: list[int], size: int = 1) -> World:
    """Return the worlds of the seeds as one; the first keeps its ids as they are."""
    together: World = {table: [] for table in TABLES}
    for place, seed in enumerate(seeds):
        world = random_world(seed, size)
        for table, rows in (moved(world, place) if place else world).items():
            together[table] += rows
    return together
