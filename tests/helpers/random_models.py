"""Random models over protected and open relations, and a judge that runs them.

    python tests/helpers/random_models.py [MODELS [SEED]]

A model leaks if a change of foreign users' rows can change the rows that a user reads:
the user's own rows, and the rows without a user. The judge tries such changes in
DuckDB, independent of the detector's proof.

If the detector refuses a model and the judge sees no leak, the judge looks again, in
worlds made for that: at the model and at each query in it, also with different
constants and with a separate relation in each `from`. If a query leaks then, the model
is safe only by chance, and the finding is right. A model without rows proves nothing.

The output lists the models that the detector missed, and its false alarms.
"""

from __future__ import annotations

import itertools
import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import duckdb

from secure_datasets.leaks.proof import USER, query_rows
from secure_datasets.leaks.scope import Rows
from secure_datasets.sql.statements import NotUnderstood

SCHEMA = "s"
USERS = (1, 2, 3)
NUMBERS = (0, 1, 2, 3)
# The relations with their columns. Events have public rows, and days have no users.
PROTECTED = {
    "jobs": ("x", "y", "user_id"),
    "runs": ("user_id", "y", "x"),
    "events": ("x", "user_id", "y"),
}
OPEN_RELATIONS = {"people": ("user_id", "x", "y"), "days": ("x", "y")}
COLUMNS = PROTECTED | OPEN_RELATIONS
# The texts that Spark and DuckDB spell differently.
SPELLINGS = {
    "~semi~": ("left semi", "semi"),
    "~anti~": ("left anti", "anti"),
    "<=>": ("<=>", "is not distinct from"),
    "~explode~": (
        "lateral view explode(array(1, 2)) t as item",
        "cross join unnest([1, 2]) as t(item)",
    ),
    "~sample~": ("tablesample (100 percent)", ""),
    # The names of windows: only Spark distinguishes their case.
    "~w~": ("w", "w_small"),
    "~W~": ("W", "w_capital"),
    "~lateral~": ("lateral", "lateral"),
    "~hint~": ("/*+ broadcast(r1), coalesce(2) */", ""),
    "~except~": ("except", "exclude"),
}
# The kinds of joins, some of them more often.
KINDS = (
    *("inner", "inner", "inner", "left", "left", "right", "full", "cross", "~semi~"),
    *("~anti~", "comma", "lateral", "using"),
)
WORLDS = 8
# The number of separate relations for the `from`s of a query.
PLACES = 8
COLUMNS_APART = {
    f"{name}__{place}": columns
    for name, columns in COLUMNS.items()
    for place in range(PLACES)
}
# The rounds of new worlds for models without a seen leak: 30 pairs in each.
LOOKS = 60
# The rows of each relation: (user_id, x, y).
World = dict[str, list[tuple]]


PACKED = re.compile(r"~struct~\(([^)]*)\)")
# The first rows of a relation; the columns of a row as rows; a quoted name.
TWO = re.compile(r"(\w+\.\w+) ~two~")
POSITIONS = re.compile(r"~positions (\w+)~")
# Each value of a list, in a row of its own.
ITEMS = re.compile(r"~items (.*?)~")
QUOTED = re.compile(r"`(\w+)`")
RELATION = re.compile(rf"\b{SCHEMA}\.(\w+)\b")


def spelt(text: str, place: int) -> str:
    """Spell a query for Spark (0) or DuckDB (1)."""
    # DuckDB names the fields of a struct before their values.
    kinds = (r"struct(\1)", lambda found: f"struct_pack({_reversed(found[1])})")
    text = PACKED.sub(kinds[place], text)
    text = TWO.sub(
        (r"\1 tablesample (2 rows)", r"(select * from \1 limit 2)")[place], text
    )
    text = ITEMS.sub((r"explode(array(\1, 1))", r"unnest([\1, 1])")[place], text)
    text = POSITIONS.sub(
        (
            r"lateral view posexplode(array(\1.x, \1.y)) t as pos, item",
            r"cross join lateral (select 0 as pos, \1.x as item"
            r" union all select 1, \1.y) as t",
        )[place],
        text,
    )
    text = text if place == 0 else QUOTED.sub(r'"\1"', text)
    for mark, spellings in SPELLINGS.items():
        text = text.replace(mark, spellings[place])
    return text


def _reversed(fields: str) -> str:
    """Return `name := value` of each `value as name`."""
    pairs = [field.split(" as ") for field in fields.split(", ")]
    return ", ".join(f"{name} := {value}" for value, name in pairs)


class Cte(NamedTuple):
    """A CTE: its name, its header and its query.

    The header is the name; for a recursive CTE, the name with the columns.
    """

    name: str
    header: str
    query: str


class Part(NamedTuple):
    """A query, and the CTEs that it may read."""

    query: str
    ctes: tuple[Cte, ...]

    def text(self) -> str:
        """Return the text of the query with its CTEs.

        With a natural join, `user_id` has one spelling.
        """
        word = "with recursive" if any("(" in c.header for c in self.ctes) else "with"
        listed = ", ".join(f"{cte.header} as ({cte.query})" for cte in self.ctes)
        text = f"{word} {listed} {self.query}" if listed else self.query
        return (
            re.sub("`user_id`", USER, text, flags=re.I) if " natural " in text else text
        )

    def apart(self, choice: random.Random) -> str:
        """Return the text with different constants, and a relation for each `from`."""
        text = self.query
        for name, header, query in reversed(self.ctes):
            if header != name:
                query = f"with recursive {header} as ({query}) select * from {name}"
            text = re.sub(rf"\b{name} as ", lambda _, q=query: f"({q}) as ", text)
        number = itertools.count()
        text = RELATION.sub(lambda found: f"{found[0]}__{next(number) % PLACES}", text)
        for constant in ("null", "2"):
            other = choice.choice(["x", *map(str, USERS)])
            text = text.replace(
                f"cast({constant} as bigint)", f"cast({other} as bigint)"
            )
        return text


@dataclass
class Source:
    """An item of a `from`: its alias and its columns."""

    alias: str
    columns: tuple[str, ...]


class Generator:
    """Makes queries, mostly with the columns user_id, x and y in some order."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.number = 0
        self.ctes: list[Cte] = []
        # The model, and each query in it that could be a model.
        self.parts: list[Part] = []

    def chance(self, percent: int) -> bool:
        """Return true in this percentage of the calls."""
        return self.choice.random() * 100 < percent

    def alias(self) -> str:
        """Return a new name."""
        self.number += 1
        return f"r{self.number}"

    def model(self) -> Part:
        """Return a model: CTEs, and a query over them."""
        ctes: dict[str, tuple[str, ...]] = {}
        if self.chance(12):
            name = self.alias()
            text, columns = self.recursive(name)
            self.ctes.append(Cte(name, f"{name} ({', '.join(columns)})", text))
            ctes[name] = columns
        for _ in range(self.choice.choice((0, 0, 1, 1, 2))):
            text, columns = self.query(ctes, depth=1)
            self.part(text)
            name = self.alias()
            self.ctes.append(Cte(name, name, text))
            ctes[name] = columns
        text, _ = self.query(ctes, depth=0)
        return self.part(text)

    def part(self, text: str) -> Part:
        """Note a query that could be a model, and return it with the CTEs before it."""
        self.parts.append(Part(text, tuple(self.ctes)))
        return self.parts[-1]

    def recursive(self, name: str) -> tuple[str, tuple[str, ...]]:
        """Return a recursive query: a start, and a step that mostly keeps the user."""
        start, columns = self.select({}, 2, None, ("user_id", "x", "y"))
        self.part(start)
        joined, source = self.source({}, 2)
        steps = ["c.user_id", "c.x + 1", "c.y"]
        text = f"{name} as c"
        if self.chance(60):
            parts = [f"c.x = {source.alias}.y"]
            if USER in source.columns and self.chance(70):
                parts.append(f"c.user_id = {source.alias}.user_id")
            text += f" inner join {joined} on {' and '.join(parts)}"
            steps[2] = f"{source.alias}.y"
            if USER in source.columns and self.chance(30):
                steps[0] = f"{source.alias}.user_id"
        step = f"select {', '.join(steps)} from {text} where c.x < 3"
        return f"({start}) union all ({step})", columns

    def turned(
        self, ctes: dict[str, tuple[str, ...]], depth: int
    ) -> tuple[str, tuple[str, ...]]:
        """Return a pivot, unpivot, struct, grouping sets or star without a column."""
        inner, columns = self.query(ctes, depth + 1)
        self.part(inner)
        alias = self.alias()
        kind = self.choice.choice(("pivot", "unpivot", "struct", "star", "sets"))
        if set(columns) != {"user_id", "x", "y"}:
            kind = "star"
        by, other = self.choice.sample(["x", "y"], 2)
        if self.chance(15):
            by, other = "user_id", by
        if kind == "pivot":
            name = "user_id" if self.chance(8) else "n"
            left = next(c for c in ("user_id", "x", "y") if c not in (by, other))
            return (
                f"select {left} as {left}, {name} as {by}, m as {other} from ({inner})"
                f" pivot (count({other}) for {by} in (1 as {name}, 2 as m)) as {alias}",
                (left, by, other),
            )
        if kind == "unpivot":
            left = next(c for c in ("user_id", "x", "y") if c not in (by, other))
            return (
                f"select {left} as {left}, v as {by}, v as {other} from ({inner})"
                f" unpivot (v for n in ({by}, {other})) as {alias}",
                (left, by, other),
            )
        if kind == "struct":
            names = ("user_id", "x", "y")
            packed = ", ".join(f"{alias}.{name} as {name}" for name in names)
            taken = ", ".join(f"p.{name} as {name}" for name in names)
            taken = "p.*" if self.chance(40) else taken
            return (
                f"select {taken} from (select ~struct~({packed}) as p"
                f" from ({inner}) as {alias})",
                names,
            )
        if kind == "sets":
            sets = ["(user_id, x)", "(user_id)", "user_id", "(x, user_id)"]
            sets += [] if self.chance(70) else ["(x)", "()"]
            chosen = self.choice.sample(sets, 2)
            by = self.choice.choice(
                (
                    f"grouping sets ({', '.join(chosen)})",
                    "user_id, cube (x)",
                    "rollup (user_id, x)",
                    "user_id, rollup (x)",
                )
            )
            kept = self.choice.choice(("user_id", "user_id", "x", "count(*)"))
            by += f" having {kept} is not null" if self.chance(50) else ""
            return (
                f"select user_id as user_id, x as x, sum(y) as y"
                f" from ({inner}) as {alias} group by {by}",
                ("user_id", "x", "y"),
            )
        left = self.choice.choice([c for c in columns if c != by] or list(columns))
        kept = tuple(c for c in columns if c != left)
        return f"select * ~except~ ({left}), 1 as {left} from ({inner}) as {alias}", (
            *kept,
            left,
        )

    def query(
        self, ctes: dict[str, tuple[str, ...]], depth: int
    ) -> tuple[str, tuple[str, ...]]:
        """Return a query and its columns."""
        if depth < 2 and self.chance(12):
            text, columns = self.turned(ctes, depth)
            return f"select * from ({text}) as {self.alias()}", columns
        if depth < 2 and self.chance(15):
            word = self.choice.choice(
                ("union all", "union all", "union", "intersect", "except")
            )
            columns = self.columns()
            parts = [
                self.select(ctes, depth + 1, None, columns if self.chance(90) else None)
                for _ in range(2)
            ]
            for text, _ in parts:
                self.part(text)
            return f" {word} ".join(f"({text})" for text, _ in parts), parts[0][1]
        return self.select(ctes, depth, None, None)

    def columns(self) -> tuple[str, ...]:
        """Return an order of the columns."""
        return tuple(self.choice.sample(("user_id", "x", "y"), 3))

    def source(
        self, ctes: dict[str, tuple[str, ...]], depth: int
    ) -> tuple[str, Source]:
        """Return an item of a `from`: its text, and its columns as a `Source`."""
        alias = self.alias()
        if depth < 2 and self.chance(12):
            text, columns = self.query(ctes, depth + 1)
            self.part(text)
            return f"({text}) as {alias}", Source(alias, columns)
        if ctes and self.chance(45):
            name = self.choice.choice(list(ctes))
            return f"{name} as {alias}", Source(alias, ctes[name])
        known = PROTECTED if self.chance(70) else OPEN_RELATIONS
        name = self.choice.choice(list(known))
        sample = " ~sample~" if self.chance(6) else " ~two~" if self.chance(2) else ""
        return f"{SCHEMA}.{name}{sample} as {alias}", Source(alias, known[name])

    def same_user(self, left: list[Source], right: Source) -> str | None:
        """Return an equality of two user_ids; None if a side has no user_id."""
        able = [source for source in left if USER in source.columns]
        if not able or USER not in right.columns:
            return None
        sign = "<=>" if self.chance(15) else "="
        sides = [
            f"{self.choice.choice(able).alias}.user_id", f"{right.alias}.user_id"
        ]  # fmt: skip
        self.choice.shuffle(sides)
        return f" {sign} ".join(sides)

    def condition(self, left: list[Source], right: Source) -> str:
        """Return a condition that joins two relations."""
        parts = []
        if self.chance(75) and (same := self.same_user(left, right)):
            parts.append(same)
        if not parts or self.chance(50):
            other = self.choice.choice(left)
            parts.append(
                f"{other.alias}.{self.choice.choice('xy')}"
                f" = {right.alias}.{self.choice.choice('xy')}"
            )
        self.choice.shuffle(parts)
        return (" or " if self.chance(4) else " and ").join(parts)

    def select(
        self,
        ctes: dict[str, tuple[str, ...]],
        depth: int,
        outer: list[Source] | None,
        wanted: tuple[str, ...] | None,
    ) -> tuple[str, tuple[str, ...]]:
        """Return a single select and its columns."""
        text, first = self.source(ctes, depth)
        sources, conditions, merged = [first], [], False
        looked_up: list[str] = []
        for _ in range(self.choice.choice((0, 0, 1, 1, 2))):
            joined, source = self.source(ctes, depth)
            kind = self.choice.choice(KINDS)
            if kind == "cross":
                text += f" cross join {joined}"
            elif kind == "comma" and " join " not in text:
                text += f", {joined}"
                conditions.append(self.condition(sources, source))
            elif kind == "lateral" and " full " not in text and " right " not in text:
                inner, source = self.lateral(ctes, sources)
                text += f" cross join lateral ({inner}) as {source.alias}"
                looked_up.append(f"{source.alias}.x")
            elif (
                kind == "using"
                and len(sources) == 1
                and USER in sources[0].columns
                and USER in source.columns
            ):
                way = self.choice.choice(("inner", "left", "right", "full"))
                if self.chance(40):
                    # A natural join compares all common columns.
                    text += f" natural {way} join {joined}"
                    names = dict.fromkeys((*sources[0].columns, *source.columns))
                    return self.over_merged(text, tuple(names), wanted)
                text += f" {way} join {joined} using (user_id)"
                merged = True
            else:
                kind = (
                    kind
                    if kind in ("left", "right", "full", "~semi~", "~anti~")
                    else "inner"
                )
                text += f" {kind} join {joined} on {self.condition(sources, source)}"
                if kind in ("~semi~", "~anti~"):
                    continue
            sources.append(source)
        if self.chance(8):
            text += " ~explode~"
        elif self.chance(4):
            text += f" ~positions {first.alias}~"
            looked_up.append("t.item")
        conditions += self.filters(ctes, depth, sources, outer)
        where = f" where {' and '.join(conditions)}" if conditions else ""
        user = self.user(sources, merged)
        values = self.values(ctes, depth, sources)
        # A value that is looked up must be in the output, or it shows nothing.
        values[: len(looked_up)] = looked_up[:2]
        columns = wanted or self.columns()
        if not wanted and self.chance(3):
            columns = ("x", "y")
        group = ""
        if len(looked_up) < 2 and self.chance(30):
            user, values, group = self.grouped(user, values, columns)
        elif len(looked_up) < 2 and self.chance(15):
            values[1], group = self.window(sources, user)
        elif len(looked_up) < 2 and self.chance(8):
            values[1] = f"~items {values[1]}~"
        name = "`User_Id`" if self.chance(4) else "user_id"
        outputs = {
            "user_id": f"{user} as {name}",
            "x": f"{values[0]} as x",
            "y": f"{values[1]} as y",
        }
        listed = ", ".join(outputs[column] for column in columns)
        if not group and not looked_up and len(sources) == 1 and self.chance(8):
            listed, columns = "*", sources[0].columns
            if "~explode~" in text:
                columns = (*columns, "item")
        distinct = "distinct " if self.chance(10) else ""
        limit = ""
        if depth == 0 and self.chance(3):
            limit = f" order by {', '.join(columns)} limit 2"
        hint = self.hint()
        return (
            f"select {hint}{distinct}{listed} from {text}{where}{group}{limit}",
            columns,
        )

    def over_merged(
        self, text: str, names: tuple[str, ...], wanted: tuple[str, ...] | None
    ) -> tuple[str, tuple[str, ...]]:
        """Return a select over a natural join, whose columns have no qualifier."""
        columns = wanted or self.columns()
        listed = ", ".join(
            f"{name if name in names else 'x'} as {name}" for name in columns
        )
        return f"select {listed} from {text}", columns

    def user(self, sources: list[Source], merged: bool) -> str:
        """Return the expression for user_id: mostly the user_id of a source."""
        able = [f"{s.alias}.user_id" for s in sources if USER in s.columns]
        if merged and self.chance(60):
            return "user_id"
        if len(able) > 1 and self.chance(20):
            a, b = self.choice.sample(able, 2)
            spellings = [
                f"coalesce({a}, {b})",
                f"case when {a} is not null then {a} else {b} end",
                f"case when {a} is null then {b} else {a} end",
                f"case when {a} is null then {a} else {b} end",
                f"case when {a} > 1 then {a} else {b} end",
            ]
            return self.choice.choice(spellings)
        if able and self.chance(88):
            found = self.choice.choice(able)
            return found.replace(USER, "`USER_id`") if self.chance(4) else found
        if able and self.chance(30):
            return f"cast({self.choice.choice(able)} as bigint)"
        source = self.choice.choice(sources)
        return self.choice.choice(
            (
                "cast(2 as bigint)",
                "cast(null as bigint)",
                f"{source.alias}.{self.choice.choice('xy')}",
                f"cast({source.alias}.x + 1 as bigint)",
            )
        )

    def values(
        self, ctes: dict[str, tuple[str, ...]], depth: int, sources: list[Source]
    ) -> list[str]:
        """Return expressions for two values of a row."""
        found = []
        for _ in range(2):
            source = self.choice.choice(sources)
            value = f"{source.alias}.{self.choice.choice('xy')}"
            if self.chance(20):
                value = f"case when {value} > 1 then {value} else 0 end"
            found.append(value)
        if depth < 2 and self.chance(10):
            inner, _ = self.subquery(ctes, sources, "max(i.x)")
            found[0] = f"({inner})"
        return found

    def subquery(
        self, ctes: dict[str, tuple[str, ...]], sources: list[Source], output: str
    ) -> tuple[str, str]:
        """Return a subquery, mostly of the same user's rows, and its relation."""
        name = self.choice.choice([*PROTECTED, *PROTECTED, *OPEN_RELATIONS, *ctes])
        columns = COLUMNS.get(name) or ctes[name]
        text = f"select {output} from {'' if name in ctes else SCHEMA + '.'}{name} as i"
        able = [s for s in sources if USER in s.columns]
        conditions = []
        if able and USER in columns and self.chance(65):
            conditions.append(f"i.user_id = {self.choice.choice(able).alias}.user_id")
        if self.chance(50):
            conditions.append(f"i.y = {self.choice.choice(sources).alias}.x")
        return text + (f" where {' and '.join(conditions)}" if conditions else ""), name

    def lateral(
        self, ctes: dict[str, tuple[str, ...]], sources: list[Source]
    ) -> tuple[str, Source]:
        """Return a lateral subquery."""
        output = self.choice.choice(("max(i.x) as x, count(*) as y", "i.x, i.y"))
        inner, _ = self.subquery(ctes, sources, output)
        return inner, Source(self.alias(), ("x", "y"))

    def filters(
        self,
        ctes: dict[str, tuple[str, ...]],
        depth: int,
        sources: list[Source],
        outer: list[Source] | None,
    ) -> list[str]:
        """Return conditions on the rows."""
        found = []
        source = self.choice.choice(sources)
        if self.chance(25):
            found.append(f"{source.alias}.x > 0")
        if self.chance(5) and len(sources) > 1:
            found.append(self.condition(sources[:-1], sources[-1]))
        if self.chance(12):
            word = "exists" if self.chance(70) else "not exists"
            found.append(f"{word} ({self.subquery(ctes, sources, '1')[0]})")
        if self.chance(10):
            column = "user_id" if USER in source.columns and self.chance(70) else "x"
            name = self.choice.choice(
                [n for n, c in COLUMNS.items() if column in c]
                + [n for n, c in ctes.items() if column in c]
            )
            word = "in" if self.chance(75) else "not in"
            place = "" if name in ctes else f"{SCHEMA}."
            inner = f"select i.{column} from {place}{name} as i"
            found.append(f"{source.alias}.{column} {word} ({inner})")
        return found

    def grouped(
        self, user: str, values: list[str], columns: tuple[str, ...]
    ) -> tuple[str, list[str], str]:
        """Aggregate the second value, mostly by user."""
        count = self.choice.choice(
            ("count(*)", f"sum({values[1]})", f"min({values[1]})")
        )
        plain = user if ("." in user and "(" not in user) or user == "user_id" else None
        if "(select" in values[0]:
            values[0] = "1"
        if self.chance(8):
            return f"max({user})", [f"max({values[0]})", count], ""
        if self.chance(15):
            return f"max({user})", [values[0], count], f" group by {values[0]}"
        if self.chance(25) and "user_id" in columns:
            return user, [values[0], count], " group by all"
        if self.chance(25) and {"user_id", "x"} <= set(columns):
            places = [columns.index("user_id") + 1, columns.index("x") + 1]
            return user, [values[0], count], f" group by {places[0]}, {places[1]}"
        by = f" group by {plain or user}, {values[0]}"
        if self.chance(10):
            by += " having count(*) > 1"
        elif self.chance(15):
            by = f" group by rollup ({plain or user}, {values[0]})"
            by += f" having {self.choice.choice([user, user, values[0]])} is not null"
        if self.chance(20):
            word = self.choice.choice(("max", "min", "any_value", "first"))
            more = " filter (where 1 = 0)" if self.chance(10) else ""
            user = f"{word}({user}){more}"
        return user, [values[0], count], by

    def window(self, sources: list[Source], user: str) -> tuple[str, str]:
        """Return a window, mostly over one user, and the clause that names windows."""
        source = self.choice.choice(sources)
        if self.chance(25):
            names = self.choice.sample(("~w~", "~W~"), 2)
            clause = f"{names[0]} as (partition by {user}, {source.alias}.y)"
            clause += f", {names[1]} as (partition by {source.alias}.x)"
            return f"count(*) over {names[self.chance(30)]}", f" window {clause}"
        by = user if self.chance(65) else f"{source.alias}.x"
        by += f", {source.alias}.y" if self.chance(30) else ""
        function = self.choice.choice(("count(*)", f"sum({source.alias}.x)", "rank()"))
        order = f" order by {source.alias}.x" if function == "rank()" else ""
        part = f"partition by {by}" if self.chance(90) else ""
        return f"{function} over ({part}{order})", ""

    def hint(self) -> str:
        """Return a hint now and then."""
        return "~hint~ " if self.chance(6) else ""


def rows_of(choice: random.Random, users: tuple[int | None, ...]) -> list[tuple]:
    """Return random rows of these users: (user_id, x, y)."""
    return [
        (user, choice.choice(NUMBERS), choice.choice(NUMBERS))
        for user in users
        for _ in range(choice.choice((0, 1, 2, 3)))
    ]


def one_change(
    choice: random.Random, user: int, relations: Mapping[str, tuple[str, ...]] = COLUMNS
) -> tuple[World, World]:
    """Return two small worlds that differ in one foreign row, or in all of them.

    A foreign row is a row of a different user. Each protected relation may have rows
    for everybody, as the detector assumes.
    """
    numbers = choice.choice([(0, 1, 2, 3), (1, 2), (0, 1, 2, None), (2,), (1, 2, 3)])
    others = tuple(each for each in USERS if each != user)
    changed = choice.choice(
        [None, *(name for name in relations if name.split("__")[0] in PROTECTED)]
    )
    sides: tuple[World, World] = ({}, {})

    def some(users: tuple[int | None, ...], most: int) -> list[tuple]:
        return [
            (each, choice.choice(numbers), choice.choice(numbers))
            for each in users
            for _ in range(choice.randint(0, most))
        ]

    most = choice.choice((1, 2, 4))
    for name in relations:
        is_open = name.split("__")[0] in OPEN_RELATIONS
        same = some(USERS if is_open else (user, *choice.choice([(), (None,)])), most)
        hidden = [] if is_open or choice.random() < 0.3 else some(others, most)
        other = hidden
        if changed is None and not is_open:
            other = some(others, most)
        elif name == changed:
            other = [
                *hidden,
                (others[0], choice.choice(numbers), choice.choice(numbers)),
            ]
        sides[0][name], sides[1][name] = [*hidden, *same], [*other, *same]
    return sides


class Judge:
    """Runs models over pairs of worlds that differ in foreign users' rows alone."""

    def __init__(self, seed: int = 0, worlds: int = WORLDS) -> None:
        self.database = duckdb.connect()
        self.database.execute("set threads = 1")
        # Planning takes longer than running; without the optimizer, half as long.
        self.database.execute("pragma disable_optimizer")
        self.database.execute(f"create schema {SCHEMA}")
        for name, columns in (COLUMNS | COLUMNS_APART).items():
            typed = ", ".join(f"{column} bigint" for column in columns)
            self.database.execute(f"create table {SCHEMA}.{name} ({typed})")
        # A user, and two worlds: the rows of each relation.
        self.pairs: list[tuple[int, tuple[World, World]]] = []
        choice = random.Random(seed)
        for _ in range(worlds):
            user, sides = choice.choice(USERS), ({}, {})
            for name in COLUMNS:
                everybody = (None,) if name == "events" else ()
                if name in OPEN_RELATIONS:
                    same = rows_of(choice, USERS)
                    both = [same, same]
                else:
                    same = rows_of(choice, (user, *everybody))
                    others = tuple(u for u in USERS if u != user)
                    both = [[*rows_of(choice, others), *same] for _ in sides]
                for side, rows in zip(sides, both, strict=True):
                    side[name] = rows
            self.pairs.append((user, sides))

    def load(self, world: World, names: Iterable[str]) -> None:
        """Replace the rows of tables by the rows of a world."""
        order = {USER: 0, "x": 1, "y": 2}
        for name in names:
            rows = world[name]
            table = f"{SCHEMA}.{name}"
            self.database.execute(f"delete from {table}")
            columns = COLUMNS[name.split("__")[0]]
            values = [[row[order[column]] for column in columns] for row in rows]
            if values:
                row = f"({', '.join('?' * len(columns))})"
                self.database.execute(
                    f"insert into {table} values {', '.join([row] * len(values))}",
                    [value for row in values for value in row],
                )

    def plan(self, name: str, query: str) -> int | None:
        """Prepare a query under a name; return the index of user_id, if it has one."""
        self.database.execute(f"prepare {name} as {query}")
        described = self.database.execute(f"describe {query}").fetchall()
        names = [column.lower() for column, *_ in described]
        if len(set(names)) < len(names):
            raise duckdb.Error("a column stands there twice")
        return names.index(USER) if USER in names else None

    def answer(self, name: str, place: int | None, user: int) -> Counter:
        """Return the rows that a user reads from a model: all, if it has no user_id."""
        rows = self.database.execute(f"execute {name}").fetchall()
        if place is None:
            return Counter(rows)
        return Counter(row for row in rows if row[place] in (user, None))

    def leaks(self, queries: Sequence[str]) -> list[bool | None]:
        """Return for each query whether it leaks; None if DuckDB can't run it.

        Each query is planned once and run over all worlds.
        """
        found: list[bool | None] = [None] * len(queries)
        places: dict[int, int | None] = {}
        self.shows = [False] * len(queries)
        for number, query in enumerate(queries):
            with suppress(duckdb.Error):
                places[number] = self.plan(f"model_{number}", spelt(query, 1))
                found[number] = False
        reads = [set(RELATION.findall(query)) for query in queries]
        for user, sides in self.pairs:
            asked = [number for number, leaks in enumerate(found) if leaks is False]
            read = sorted(set().union(*(reads[number] for number in asked)))
            answers = []
            for world in sides:
                self.load(world, read)
                answers.append({})
                for number in asked:
                    try:
                        place = places[number]
                        answer = self.answer(f"model_{number}", place, user)
                    except duckdb.Error:
                        found[number] = answer = None
                    answers[-1][number] = answer
            for number in asked:
                if found[number] is False:
                    found[number] = answers[0][number] != answers[1][number]
                    self.shows[number] |= bool(answers[0][number])
        for number in places:
            self.database.execute(f"deallocate model_{number}")
        return found

    def look_again(
        self, models: Mapping[str, Sequence[Part]], looks: int
    ) -> tuple[list[str], list[str]]:
        """Return the models that still don't leak, and the models that show no rows.

        models  the queries in each model
        """
        choice, before = random.Random(len(self.pairs)), self.pairs
        left, mute = list(models), list(models)
        for look in range(looks):
            is_apart = look % 3 > 0
            users = [choice.choice(USERS) for _ in range(30)]
            relations = COLUMNS_APART if is_apart else COLUMNS
            self.pairs = [(user, one_change(choice, user, relations)) for user in users]
            parts = [(model, part) for model in left for part in models[model]]
            leaks = self.leaks(
                [part.apart(choice) if is_apart else part.text() for _, part in parts]
            )
            # The model is the last of its parts.
            shows = dict(zip((model for model, _ in parts), self.shows, strict=True))
            mute = [model for model in mute if not shows.get(model)]
            leaking = {
                model for (model, _), leak in zip(parts, leaks, strict=True) if leak
            }
            left = [model for model in left if model not in leaking]
            if look == looks // 5:
                left = [model for model in left if model not in mute]
        self.pairs = before
        return left, mute


RELATIONS = {
    (SCHEMA, name): Rows(
        columns,
        frozenset((USER,) if name in PROTECTED else ()),
        frozenset((name,) if name in PROTECTED else ()),
    )
    for name, columns in COLUMNS.items()
}


def finding(query: str) -> str | None:
    """Return the detector's objection to a model; None if it proves the model."""
    try:
        rows = query_rows(spelt(query, 0), RELATIONS.get)
    except NotUnderstood as reason:
        return str(reason)
    if not rows.reads or USER in rows.keys:
        return None
    return rows.problem.text if rows.problem else "user_id is not among its keys"


@dataclass
class Verdicts:
    """The verdicts on random models: numbers, missed leaks and false alarms."""

    missed: list[str]
    false_alarms: list[tuple[str, str]]
    proven: int = 0
    found: int = 0


def judged(models: int, seed: int, looks: int = 0) -> Verdicts:
    """Judge a number of random models that DuckDB can run.

    looks   the rounds of new worlds for refused models without a seen leak
    """
    judge, verdicts, number = Judge(seed), Verdicts([], []), 0
    unseen: dict[str, str] = {}
    parts: dict[str, list[Part]] = {}
    while missing := models - verdicts.proven - verdicts.found:
        numbers = range(number, number + missing)
        generators = [Generator(seed * 1_000_000 + n) for n in numbers]
        queries = [each.model().text() for each in generators]
        parts |= {
            query: each.parts for query, each in zip(queries, generators, strict=True)
        }
        number += missing
        for query, leaks in zip(queries, judge.leaks(queries), strict=True):
            if leaks is None:
                continue
            reason = finding(query)
            verdicts.proven += reason is None
            verdicts.found += reason is not None
            if reason is None and leaks:
                verdicts.missed.append(spelt(query, 0))
            elif reason is not None and not leaks:
                unseen[query] = reason
    left, mute = judge.look_again({query: parts[query] for query in unseen}, looks)
    # Few models are left, and a leak may show in one of a thousand worlds only.
    left, _ = judge.look_again({query: parts[query] for query in left}, 5 * looks)
    verdicts.false_alarms = [
        (unseen[query], spelt(query, 0))
        for query in left
        if not looks or query not in mute
    ]
    return verdicts


def main() -> None:
    """Judge random models, and print the verdicts."""
    models, seed = (*map(int, sys.argv[1:]), *(1000, 0)[len(sys.argv) - 1 :])
    verdicts = judged(models, seed, LOOKS)
    for reason, query in verdicts.false_alarms:
        print(f"false alarm: {reason}\n    {query}")
    for query in verdicts.missed:
        print(f"MISSED: {query}")
    print(
        f"{verdicts.proven} proven, {verdicts.found} found,"
        f" {len(verdicts.false_alarms)} of them seen to leak nothing,"
        f" {len(verdicts.missed)} missed"
    )
    sys.exit(bool(verdicts.missed))


if __name__ == "__main__":
    main()
