"""Asks Spark for the argument types of each function that rules may call.

The answers go to `src/secure_datasets/sql/argument_types.txt`; the module that reads
the file describes its format.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from secure_datasets.sql import argument_types, functions

# One type of each kind.
KINDS = {
    "string": "string", "int": "int", "bigint": "bigint", "double": "double",
    "decimal": "decimal(10,2)", "boolean": "boolean", "date": "date",
    "timestamp_ltz": "timestamp", "timestamp_ntz": "timestamp_ntz", "binary": "binary",
    "null": "void", "interval": "interval day to second", "variant": "variant",
    "array<string>": "array<string>", "array<int>": "array<int>",
    "array<boolean>": "array<boolean>", "array<date>": "array<date>",
    "array<array>": "array<array<string>>", "array<map>": "array<map<string,string>>",
    "array<struct>": "array<struct<x:int>>", "map<string>": "map<string,string>",
    "map<int>": "map<int,int>", "struct": "struct<x:int>",
}  # fmt: skip
COLUMNS = {kind: f"k{number}" for number, kind in enumerate(KINDS)}
# The constants for arguments that a rule must write as constants.
CONSTANTS = {
    "a unit": "'year'", "a text": "'year'", "a time zone": "'UTC'",
    "a format": "'yyyy'",
    "a format with SSS for parts of a second": "'yyyy'", "a charset": "'utf-8'",
    "a number of digits": "2", "a number of places": "1", "a number of months": "1",
    "a count": "2", "a schema without dates and times": "'a int'",
    "a path": "'$.a'", "a type": "'int'",
    "letters and digits": "'a'", "one letter or null": "'X'",
    "a regular expression": "'(a)'", "a group of it": "1", "true or false": "true",
    "a text without \\ or a $ that is no group of it": "'x'",
    "a format of binary values": "'hex'", "a format of numbers": "'999'",
}  # fmt: skip
# A place in a list, or a key of a map.
PLACES = {"int": "1", "string": "'x'"}
LAMBDAS = {
    "aggregate": {2: "(g, h) -> g", 3: "g -> g"}, "exists": {1: "h -> true"},
    "filter": {1: "h -> true"}, "forall": {1: "h -> true"},
    "map_filter": {1: "(g, h) -> true"}, "map_zip_with": {2: "(g, h, o) -> true"},
    "reduce": {2: "(g, h) -> g", 3: "g -> g"}, "transform": {1: "h -> h"},
    "transform_values": {1: "(g, h) -> h"}, "zip_with": {2: "(g, h) -> true"},
}  # fmt: skip
# Functions with any number of arguments: the number before the repeated ones.
REPEATED = {
    "array": 0, "arrays_zip": 0, "coalesce": 0, "concat": 0, "concat_ws": 1, "elt": 1,
    "greatest": 0, "hash": 0, "least": 0, "struct": 0, "xxhash64": 0,
}  # fmt: skip
# Operators, by their names in the table: those of words are no functions.
ASKED_OPERATORS = {
    "=": "{} = {}", "<": "{} < {}", "+": "{} + {}", "-": "{} - {}", "*": "{} * {}",
    "/": "{} / {}", "%": "{} % {}",
    "~": "~{}", "in()": "{} in ({})", "row()": "({}, 1) in (({}, 1))",
    "div()": "{} div {}", "||": "{} || {}", "&": "{} & {}",
    "case()": "case when true then {} else {} end",
    "when()": "case when {} then 1 end", "is()": "{} is true",
}  # fmt: skip
# Functions that are no calls, or have special arguments. Spark's analyzer by itself
# does not end with the parts of a time of day.
NO_CALLS = functions.names(
    """
    and between case cast count div extract grouping grouping_id hour ilike in like
    minute not or percentile_cont percentile_disc regexp rlike second
    """
)
# Functions with pairs of arguments.
PAIRS = functions.names("decode map named_struct")
MOST_ARGUMENTS, MOST_IN_PAIRS = 7, 4
AT_ONCE = 400


class Asked:
    """Asks a session which expressions it takes, many at a time."""

    def __init__(self, session: Any, types: dict[str, str]) -> None:
        """Take the columns that expressions may name, with their types."""
        columns = ", ".join(
            f"{_nothing(kind)} as {name}" for name, kind in types.items()
        )
        self.source = f"(select {columns})"
        self.state = session._jsparkSession.sessionState()

    def takes(self, expressions: Sequence[str]) -> list[bool]:
        """Return for each expression whether Spark takes its types."""
        return list(
            itertools.chain.from_iterable(
                self._takes(expressions[start : start + AT_ONCE])
                for start in range(0, len(expressions), AT_ONCE)
            )
        )

    def has(self, calls: Iterable[str]) -> bool:
        """Return whether Spark can analyse one of these calls, with any result."""
        for call in calls:
            try:
                self._analyzed([call])
            except Exception:
                continue
            return True
        return False

    def _analyzed(self, asked: Sequence[str]) -> Any:
        values = ", ".join(f"{each} as c{n}" for n, each in enumerate(asked))
        query = f"select {values} from {self.source}"
        plan = self.state.sqlParser().parsePlan(query)
        return self.state.analyzer().execute(plan).expressions()

    def _takes(self, asked: Sequence[str]) -> list[bool]:
        try:
            found = self._analyzed(asked)
            return [found.apply(n).resolved() for n in range(len(asked))]
        except Exception:
            # Some calls end the analysis of the whole batch.
            if len(asked) == 1:
                return [False]
            middle = len(asked) // 2
            return self._takes(asked[:middle]) + self._takes(asked[middle:])


def _nothing(kind: str) -> str:
    if kind == "void":
        return "null"
    return (
        "interval '1' day" if kind.startswith("interval") else f"cast(null as {kind})"
    )


class Function:
    """One function with a number of arguments, each with its possible values."""

    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.choices: list[dict[str, str]] = []
        for place in range(number):
            kind = functions.CONSTANTS.get(name, {}).get(place)
            fixed = LAMBDAS.get(name, {}).get(place) or CONSTANTS.get(kind or "")
            if name in ("map", "named_struct") and place % 2 == 0:
                fixed = f"'x{place}'"
            if name == "percentile" and place == 1:
                fixed = "0.5"
            choices = PLACES if kind == "a place" else COLUMNS
            self.choices.append({"-": fixed} if fixed else choices)

    def call(self, kinds: Sequence[str]) -> str:
        """Return a call with arguments of these kinds."""
        written = [
            each.get(kind, next(iter(each.values())))
            for each, kind in zip(self.choices, kinds, strict=True)
        ]
        operator = ASKED_OPERATORS.get(self.name)
        if operator is not None:
            return operator.format(*written)
        return f"{self.name}({', '.join(written)})"

    def taken(self, asked: Asked) -> set[tuple[str, ...]]:
        """Return the kinds of the arguments with which Spark takes the function."""
        of_one_kind = (
            self.call(
                [kind if kind in each else next(iter(each)) for each in self.choices]
            )
            for kind in ("string", "null", "array<string>", "timestamp_ltz")
        )
        if not asked.has(of_one_kind):
            return set()
        free = [n for n, each in enumerate(self.choices) if len(each) > 1]
        if len(free) <= 2:
            return self._among(asked, [list(each) for each in self.choices])
        base = self._base(asked, free)
        if base is None:
            return set()
        sets = [list(each) for each in self.choices]
        for place in free:
            sets[place] = self._alone(asked, free, base, place)
        groups = self._groups(asked, free, base, sets)
        found: list[set[tuple[str, ...]]] = []
        for group in groups:
            among = [sets[n] if n in group else [base[n]] for n in range(len(base))]
            found.append(self._among(asked, among))
        made = set()
        for parts in itertools.product(*found):
            kinds = list(base)
            for group, part in zip(groups, parts, strict=True):
                for place in group:
                    kinds[place] = part[place]
            made.add(tuple(kinds))
        return made

    def _among(
        self, asked: Asked, choices: Sequence[Iterable[str]]
    ) -> set[tuple[str, ...]]:
        every = list(itertools.product(*choices))
        answers = asked.takes([self.call(kinds) for kinds in every])
        return {
            kinds for kinds, is_taken in zip(every, answers, strict=True) if is_taken
        }

    def _base(self, asked: Asked, free: list[int]) -> list[str] | None:
        """Return combinations of kinds that Spark takes."""
        few = functions.names(
            "int string timestamp_ltz array<string> map<string> boolean"
        )
        choices = [
            [kind for kind in each if kind in few] if n in free else list(each)
            for n, each in enumerate(self.choices)
        ]
        found = sorted(self._among(asked, choices))
        return list(found[0]) if found else None

    def _alone(
        self, asked: Asked, free: list[int], base: list[str], place: int
    ) -> list[str]:
        """Return the kinds that a place takes beside given kinds."""
        tried: dict[str, list[list[str]]] = {}
        for kind in self.choices[place]:
            # Beside accepted kinds, beside nulls, and beside one more of the same kind.
            fillers = [{}, dict.fromkeys(free, "null"), dict.fromkeys(free, kind)]
            fillers += [{other: kind} for other in free]
            tried[kind] = [
                [(filler | {place: kind}).get(n, each) for n, each in enumerate(base)]
                for filler in fillers
            ]
        calls = [self.call(each) for others in tried.values() for each in others]
        answers = iter(asked.takes(calls))
        by_kind = {
            kind: [next(answers) for _ in others] for kind, others in tried.items()
        }
        return [kind for kind, found in by_kind.items() if any(found)]

    def _groups(
        self, asked: Asked, free: list[int], base: list[str], sets: list[list[str]]
    ) -> list[list[int]]:
        """Return the places in groups that depend on each other."""
        groups = [[n] for n in range(len(base))]
        for one, other in itertools.combinations(free, 2):
            among = [
                sets[n] if n in (one, other) else [base[n]] for n in range(len(base))
            ]
            found = self._among(asked, among)
            firsts = {kinds[one] for kinds in found}
            lasts = {kinds[other] for kinds in found}
            is_whole = len(found) == len(sets[one]) * len(sets[other])
            if not is_whole and len(found) <= len(firsts) * len(lasts):
                (a,) = [group for group in groups if one in group]
                (b,) = [group for group in groups if other in group]
                if a is not b:
                    groups.remove(b)
                    a += b
        return [sorted(group) for group in groups]


def alternatives(taken: set[tuple[str, ...]]) -> list[list[frozenset[str]]]:
    """Return tuples as a minimal number of products of sets."""
    if not taken or not next(iter(taken)):
        return [[]] if taken else []
    by_first: dict[str, set[tuple[str, ...]]] = {}
    for first, *rest in taken:
        by_first.setdefault(first, set()).add(tuple(rest))
    by_rest: dict[frozenset[tuple[str, ...]], set[str]] = {}
    for first, rests in by_first.items():
        by_rest.setdefault(frozenset(rests), set()).add(first)
    return [
        [frozenset(firsts), *others]
        for rests, firsts in by_rest.items()
        for others in alternatives(set(rests))
    ]


def _alike(kinds: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the implied kinds: one kind of list represents all similar ones."""
    inner = {
        "array<array>": ("array<string>", "array"),
        "array<int>": ("int", "number"),
        "array<map>": ("map<string>", "map"),
        "map<int>": ("int", "number"),
    }
    for outer, (kind, group) in inner.items():
        for place in range(len(kinds)) if outer in kinds else ():
            if kinds[place] == kind:
                for each in argument_types.GROUPS[group]:
                    yield (*kinds[:place], each, *kinds[place + 1 :])


def written(kinds: frozenset[str]) -> str:
    """Return a set of kinds, with a name for those that are often together."""
    order = list(KINDS)
    left = set(kinds)
    words = []
    for name, members in argument_types.GROUPS.items():
        if members <= left:
            words.append(name)
            left -= members
    return " ".join([*words, *sorted(left, key=lambda kind: [*order, "-"].index(kind))])


def held() -> list[str]:
    """Return the functions with checked arguments, and the operators."""
    names = functions.PLAIN | functions.CONSTANTS.keys() | functions.PLAIN_AGGREGATES
    return sorted((names - NO_CALLS) | ASKED_OPERATORS.keys())


def lines(asked: Asked, names: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the file about some functions."""
    for name in names:
        most = REPEATED[name] + 2 if name in REPEATED else MOST_ARGUMENTS
        most = MOST_IN_PAIRS if name in PAIRS else most
        numbers = range(most + 1)
        if name in ASKED_OPERATORS:
            numbers = [ASKED_OPERATORS[name].count("{}")]
        found = {
            number: taken
            for number in numbers
            if (taken := Function(name, number).taken(asked))
        }
        for number, taken in found.items():
            taken = taken | {each for kinds in taken for each in _alike(kinds)}
            more = "+" if number == REPEATED.get(name, -9) + 2 else ""
            sets = alternatives(taken)
            said = sorted(", ".join(map(written, each)) for each in sets)
            yield f"{name} {number}{more}: {'; '.join(said)}".rstrip()
        if name in PAIRS:
            yield f"{name} {max(found) + 1}+:"
