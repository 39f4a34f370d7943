"""What differs from one moment to the next, and the raw rows that made it.

The model `access_changes` says the same of two states, and the two are not one
mechanism. That one is a query over what is published of two builds, of which nothing is
brought to the driver, since everybody's access may have changed. This one looks at
hundreds of moments, for which no build stands anywhere, of a few users or objects: as
queries it would be one comparison for each moment. Both are held against the same law:
the rows that are named make the change by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from secure_datasets.questions.timeline.selection import GROUPS, USER, USERS, Table

Facts = dict[str, Any]
Row = tuple[str, int]
# Before the first load time, in microseconds of UTC.
BEGINNING = -(2**63)
GIVES, TAKES = "gives", "takes"


@dataclass(frozen=True)
class Way:
    """What gives a part of access from one moment to another, and its rows."""

    kind: str
    first: int
    last: int
    rows: tuple[Row, ...]

    def holds(self, moment: int) -> bool:
        """Whether it gives it at a moment."""
        return self.first <= moment <= self.last


@dataclass
class Evidence:
    """The ways to what changed, and when their rows moved.

    ways   by what they lead to: a right of a user on an object, or a link of objects
    moved  the moments at which a row began or ended to count, or named something else
    ids    the id of each row, whose number is that of its id
    """

    ways: Mapping[tuple, list[Way]] = field(default_factory=dict)
    moved: Mapping[Row, frozenset[int]] = field(default_factory=dict)
    ids: Mapping[Row, int] = field(default_factory=dict)

    def rows_of(self, ways: Iterable[Way], moment: int) -> set[Row]:
        """Return the rows of these ways that moved at a moment.

        A way may open or close with no row of its own moving, by a ring of groups. Then
        the groups that moved have done it.
        """
        moved = {
            row
            for way in ways
            for row in way.rows
            if moment in self.moved.get(row, frozenset())
        }
        return moved or {
            row
            for row, moments in self.moved.items()
            if row[0] == GROUPS and moment in moments
        }

    def made(
        self, parts: Iterable[tuple], moment: int, had: bool, has: bool, by_kind: bool
    ) -> list[tuple[Row, str]]:
        """Return the rows that made a change, each with its effect.

        parts    what access is made of: keys of the ways
        by_kind  whether the kinds of ways make a difference

        What was given in another way before and after makes no difference.
        """
        found: set[tuple[Row, str]] = set()
        for part in parts:
            of_kind: dict[str, list[Way]] = {}
            for way in self.ways.get(part, []):
                of_kind.setdefault(way.kind if by_kind else "", []).append(way)
            for ways in of_kind.values():
                before = [way for way in ways if way.holds(moment - 1)]
                after = [way for way in ways if way.holds(moment)]
                if has and after and not before:
                    found |= {(row, GIVES) for row in self.rows_of(after, moment)}
                if had and before and not after:
                    found |= {(row, TAKES) for row in self.rows_of(before, moment)}
        return sorted(found)


def parts_of(
    tier: Mapping[str, Any], user: int, keys: Mapping[str, int]
) -> list[tuple]:
    """Return what a user's access to objects is made of, as the ways are found by."""
    rights = [
        (user, right["object_type"], keys[right["key"]], right["permission"])
        for right in tier["rights"]
    ]
    links = [
        (link["table"], *(keys[key] for key in tier["keys"])) for link in tier["links"]
    ]
    return [*rights, *links]


class Told(Protocol):
    """The moments that a timeline tells, from which changes are read.

    times      the moments in microseconds of UTC, in order
    deletions  of what moved: table, id and moment of rows that their feed deleted
    """

    times: Sequence[int]
    deletions: set[tuple[str, int, int]]
    tables: Mapping[str, Table]

    def id_of(self, number: int) -> int:
        """Return the id that a number in an answer stands for."""


def keys_of(parts: Facts) -> list[str]:
    """Return the keys of all tiers."""
    return list(
        dict.fromkeys(key for tier in parts["tiers"].values() for key in tier["keys"])
    )


def table_of(key: str, tables: Mapping[str, Table]) -> str:
    """Return the raw table that has a key."""
    return next(name for name, table in tables.items() if table.key == key)


def change_of(
    line: Facts,
    moments: Told,
    parts: Facts,
    names: Mapping[tuple[str, int], str | None],
    evidence: Evidence,
) -> Facts:
    """Return a change as it is told."""
    name, tier = list(parts["tiers"].items())[line["tier"]]
    change = "changed"
    if line["had"] != line["has"]:
        change = "gained" if line["has"] else "lost"
    made = evidence.made(
        parts_of(tier, line[USER], line),
        line["moment"],
        line["had"],
        line["has"],
        by_kind=bool(tier["carries"]),
    )
    user_id = moments.id_of(line[USER])
    objects = []
    for key in tier["keys"]:
        object_id = moments.id_of(line[key])
        name_of = names[table_of(key, moments.tables), object_id]
        objects.append({"key": key, "id": object_id, "name": name_of})
    return {
        "at": moment_text(moments.times[line["moment"]]),
        "change": change,
        "tier": name,
        "user_id": user_id,
        "login_name": names[USERS, user_id],
        "objects": objects,
        "carried_before": line["carried_before"],
        "carried": line["carried"],
        "rows": [
            {
                "table": table,
                "id": (row_id := evidence.ids[table, number]),
                "effect": effect,
                "is_deleted": (table, row_id, line["moment"]) in moments.deletions,
            }
            for (table, number), effect in made
        ],
    }


def moment_text(micros: int) -> str | None:
    """Return a moment as the text of a timestamp in UTC; none for the beginning."""
    if micros == BEGINNING:
        return None
    return str(datetime(1970, 1, 1) + timedelta(microseconds=micros))
