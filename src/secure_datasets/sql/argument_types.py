"""The types that Spark takes as arguments of each function that rules may call.

tests/helpers/asked_types.py asks Spark and writes argument_types.txt. A line has a
function or operator, a number of arguments, and the kinds of types of each argument;
several alternatives after ';' if the arguments depend on each other. An operator of
words is `in()` or the like, which no function is called.

- `n+`: n arguments or more; the last two kinds repeat for all pairs after n - 2
- `-`: not checked here: a lambda, or a constant that is checked elsewhere
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from secure_datasets.sql.functions import names

# The groups of kinds in the table, by their names.
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
# The table's sign for an argument that is not checked.
NOTHING = "-"


@dataclass(frozen=True)
class Takes:
    """The arguments of a function: alternatives, each with the kinds by place.

    has_more  whether more arguments may follow, all like the last two
    """

    ways: list[list[frozenset[str]]]
    has_more: bool

    def fits(self, given: Sequence[frozenset[str] | None]) -> bool:
        """Whether an alternative has a kind of each argument; no kinds mean unknown."""
        return not self.ways or any(
            all(
                kinds is None or NOTHING in taken or kinds & taken
                for kinds, taken in zip(given, way, strict=True)
            )
            for way in self.ways
        )

    def at(self, place: int) -> frozenset[str]:
        """Return the kinds that a place takes in any alternative."""
        return frozenset().union(*(way[place] for way in self.ways))


@cache
def table() -> dict[str, dict[int, Takes]]:
    """Return the arguments of each function, by its name and their number."""
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
    """Return the family of types of a kind."""
    return next((name for name, kinds in GROUPS.items() if kind in kinds), kind)


def families(name: str, number: int, place: int) -> frozenset[str] | None:
    """Return the families that a place takes; none if it is unknown."""
    takes = table().get(name, {}).get(number)
    return frozenset(map(family_of, takes.at(place))) if takes else None


def said(kinds: frozenset[str], between: str = " or ") -> str:
    """Return kinds in words; the name of a group replaces all of its members."""
    left, words = kinds, []
    for name, members in GROUPS.items():
        if members <= left:
            left -= members
            words.append(name)
    return between.join([*words, *sorted(left)])
