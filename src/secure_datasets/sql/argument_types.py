"""Which types Spark takes as the arguments of each function that rules may call.

Spark has been asked: tests/helpers/asked_types.py writes argument_types.txt. A line
of it has a function, a number of arguments, and the kinds of types that each of these
may be, several times after ';' where they depend on each other. `n+` is n arguments or
more, of which every two behind the first n - 2 are held so; '-' is where nothing is
held: a lambda, or a constant that is looked at elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from secure_datasets.sql.functions import names

# Kinds of types, as the table says them, by the names of several.
GROUPS = {
    "number": names("int bigint double decimal"),
    "array": names(
        """
        array<string> array<int> array<boolean> array<date> array<array> array<map>
        array<struct>
        """
    ),
    "map": names("map<string> map<int>"),
    "timestamp": names("timestamp_ltz timestamp_ntz"),
}
# What stands in the table where nothing is held of an argument.
NOTHING = "-"


@dataclass(frozen=True)
class Takes:
    """What a function takes: one of several ways, each with the kinds by place.

    has_more  whether there may be more arguments, all like the last two
    """

    ways: list[list[frozenset[str]]]
    has_more: bool

    def fits(self, given: Sequence[frozenset[str] | None]) -> bool:
        """Whether one of the ways has some kind of each argument; none is unknown."""
        return not self.ways or any(
            all(
                kinds is None or NOTHING in taken or kinds & taken
                for kinds, taken in zip(given, way, strict=True)
            )
            for way in self.ways
        )

    def at(self, place: int) -> frozenset[str]:
        """Return the kinds that a place takes in any way."""
        return frozenset().union(*(way[place] for way in self.ways))


@cache
def table() -> dict[str, dict[int, Takes]]:
    """Return what each function takes, by its name and the number of arguments."""
    text = Path(__file__).with_name("argument_types.txt").read_text(encoding="utf-8")
    found: dict[str, dict[int, Takes]] = {}
    for line in text.splitlines():
        call, _, told = line.partition(":")
        name, number = call.split(" ")
        sets = [
            [_kinds(each) for each in way.split(",")]
            for way in told.split(";")
            if told.strip()
        ]
        takes = Takes(sets, number.endswith("+"))
        found.setdefault(name, {})[int(number.rstrip("+"))] = takes
    return found


def _kinds(words: str) -> frozenset[str]:
    return frozenset().union(*(GROUPS.get(each, {each}) for each in words.split()))


def family_of(kind: str) -> str:
    """Return the family of types that a kind is of."""
    return next((name for name, kinds in GROUPS.items() if kind in kinds), kind)


def families(name: str, number: int, place: int) -> frozenset[str] | None:
    """Return the families that a place takes; none if nothing is known of it."""
    takes = table().get(name, {}).get(number)
    return frozenset(map(family_of, takes.at(place))) if takes else None


def said(kinds: frozenset[str], between: str = " or ") -> str:
    """Return kinds in words: the name of a group for all of its members."""
    left, words = kinds, []
    for name, members in GROUPS.items():
        if members <= left:
            left -= members
            words.append(name)
    return between.join([*words, *sorted(left)])
