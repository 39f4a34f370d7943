"""Random worlds whose columns have random types that hold what is delivered."""

from __future__ import annotations

from collections import Counter
from random import Random

from oracle.contract import BIGINT, FLAG, TABLES, TIMESTAMP, UNREADABLE, read_value
from random_worlds import random_world

AT_ONCE = 20
TYPES = {
    BIGINT: ("bigint", "decimal(38,0)", "decimal(38,10)", "double", "int", "smallint"),
    FLAG: ("boolean", "tinyint", "smallint", "int", "bigint"),
    TIMESTAMP: ("timestamptz", "timestamp", "date"),
}
LIMITS = {
    "int": 2**31,
    "smallint": 2**15,
    "tinyint": 2**7,
    "double": 2**53,
    "bigint": 2**63,
}


def holds(kind: str, value: object) -> bool:
    """Whether a type holds a value exactly."""
    if value is None:
        return True
    if kind == "date":
        return (value.hour, value.minute, value.second, value.microsecond) == (0,) * 4
    if isinstance(value, int) and not isinstance(value, bool):
        digits = 28 if kind == "decimal(38,10)" else 38
        return abs(value) < LIMITS.get(kind, 10**digits)
    return True


def typed(random: Random, table: str, rows: list) -> tuple[dict, list, list]:
    """Return a table's columns with types at random, and its rows in these and as text.

    In a type, two ways to write one value are one.
    """
    types, found, texts = {}, [dict(row) for row in rows], [dict(row) for row in rows]
    for column, kind in TABLES[table].items():
        types[column] = "varchar"
        values = [read_value(kind, row[column]) for row in rows]
        if UNREADABLE in values:
            continue
        able = [t for t in TYPES.get(kind, ()) if all(holds(t, v) for v in values)]
        if not able:
            continue
        types[column] = random.choice(able)
        for row, value in zip(texts, values, strict=True):
            row[column] = None if value is None else str(value).lower()
        for row, value in zip(found, values, strict=True):
            is_number = types[column] not in ("boolean", "varchar")
            row[column] = int(value) if isinstance(value, bool) and is_number else value
    return types, found, texts


def readable(world: dict) -> dict:
    """Return a world without the texts that can't be read, but for some tables.

    Few columns of a random world can be read in every row.
    """
    found = {}
    for number, (table, rows) in enumerate(world.items()):
        columns = TABLES[table].items()
        found[table] = [
            row
            for row in rows
            if number % 4 == 0
            or UNREADABLE not in [read_value(kind, row[name]) for name, kind in columns]
        ]
    return found


def worlds(first: int) -> dict:
    """Return some random worlds in one: of all, no id is another's by chance alone."""
    random = Random(first)
    found: dict[str, list] = {table: [] for table in TABLES}
    for seed in range(first, first + AT_ONCE):
        for table, rows in random_world(seed).items():
            found[table] += random.sample(rows, min(len(rows), 8))
    return readable(found)


def comparable(table: str, staged: list[dict]) -> Counter:
    """Return staged rows in a form that does not tell how a value was written."""
    written = ("raw_id", "raw_row")
    return Counter(
        tuple(str(value) for name, value in row.items() if name not in written)
        for row in staged
    )
