"""What differs from one moment to the next, and the raw rows that made it.

The macro `access_changes_query` says the same of two states, and the two are not one
mechanism. That one is a query over what is published of two builds, of which nothing is
brought to the driver, since everybody's access may have changed. This one looks at
hundreds of moments, for which no build stands anywhere, of a few users or objects: as
queries it would be one comparison for each moment. Both are held against the same law:
the rows that are named make the change by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from secure_datasets.questions.timeline.selection import GROUPS

Row = tuple[str, int]
GIVES, TAKES = "gives", "takes"


# ---------------------------------------------------------------------------
# Over moments
# ---------------------------------------------------------------------------


def runs(held: DataFrame, by: Sequence[str]) -> DataFrame:
    """Return from which moment to which something holds.

    held  a row for each `moment` at which it does

    Output: the columns that it is told by, and the first and last moment.
    """
    in_order = Window.partitionBy(*by).orderBy("moment")
    return (
        held.select(*by, "moment")
        # Access comes in several ways, and is held once.
        .distinct()
        .withColumn("run", F.col("moment") - F.row_number().over(in_order))
        .groupBy(*by, "run")
        .agg(F.min("moment").alias("first"), F.max("moment").alias("last"))
        .drop("run")
    )


def changes(seen: DataFrame, by: Sequence[str], last: int) -> DataFrame:
    """Return when access began, ended or became other access.

    seen  a row for each `moment` at which access is held, with what it has `carried`
    last  the last moment: what holds then goes on

    Output: the columns that access is told by, moment, had, has, carried_before,
    carried.
    """
    held = runs(seen, [*by, "carried"])
    begun = held.withColumn("moment", F.col("first")).withColumn("is_on", F.lit(True))
    ended = (
        held.where(F.col("last") < last)
        .withColumn("moment", F.col("last") + 1)
        .withColumn("is_on", F.lit(False))
    )
    # One thing carried may end and another begin at one moment.
    return (
        begun.unionByName(ended)
        .groupBy(*by, "moment")
        .agg(
            F.bool_or(~F.col("is_on")).alias("had"),
            F.bool_or("is_on").alias("has"),
            F.max(F.when(~F.col("is_on"), F.col("carried"))).alias("carried_before"),
            F.max(F.when(F.col("is_on"), F.col("carried"))).alias("carried"),
        )
    )


# ---------------------------------------------------------------------------
# By which rows
# ---------------------------------------------------------------------------


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
