"""Changes from one moment to the next, and the raw rows that made them.

The model `access_changes` reports the same facts about two states, by a different
mechanism:

- `access_changes` is a query over the published relations of two builds. It brings
  nothing to the driver, since everybody's access may have changed.
- This module compares hundreds of moments, none of them built, for a few users or
  objects. As queries it would need one comparison for each moment.

Both obey the same law: the named rows make the change by themselves.
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
    """A way to a part of access: its first and last moment, and its raw rows."""

    kind: str
    first: int
    last: int
    rows: tuple[Row, ...]

    def holds(self, moment: int) -> bool:
        """Whether the way gives its part of access at a moment."""
        return self.first <= moment <= self.last


@dataclass
class Evidence:
    """The ways to the changed parts of access, and when the ways' rows moved.

    ways   the ways by part: a right of a user on an object, or a link of objects
    moved  the moments when a row began or ceased to count, or named something else
    ids    the id of each row, by table and number
    """

    ways: Mapping[tuple, list[Way]] = field(default_factory=dict)
    moved: Mapping[Row, frozenset[int]] = field(default_factory=dict)
    ids: Mapping[Row, int] = field(default_factory=dict)

    def rows_of(self, ways: Iterable[Way], moment: int) -> set[Row]:
        """Return the rows of these ways that moved at a moment.

        In a ring of groups, a way may open or close although none of its rows moves.
        The cause is then every group that moved at that moment.
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

        parts    the parts of the access: keys of the ways
        by_kind  whether to compare the ways of each kind separately

        If a part has a way before and a way after, it adds no rows, even if the ways
        differ. With `by_kind` this holds only for ways of the same kind.
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
    """Return the parts of a user's access to objects, as keys of the ways."""
    rights = [
        (user, right["object_type"], keys[right["key"]], right["permission"])
        for right in tier["rights"]
    ]
    links = [
        (link["table"], *(keys[key] for key in tier["keys"])) for link in tier["links"]
    ]
    return [*rights, *links]


class Told(Protocol):
    """The moments of a timeline, as input for its changes.

    times      the moments in microseconds of UTC, in order
    deletions  table, id and moment of each row that moved because its feed deleted it
    """

    times: Sequence[int]
    deletions: set[tuple[str, int, int]]
    tables: Mapping[str, Table]

    def id_of(self, number: int) -> int:
        """Return the id for a number in an answer."""


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
    """Return a change as the timeline shows it."""
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
    """Return a moment as the text of a timestamp in UTC; None for the beginning."""
    if micros == BEGINNING:
        return None
    return str(datetime(1970, 1, 1) + timedelta(microseconds=micros))
