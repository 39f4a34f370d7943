"""The rows of all moments side by side.

What is staged of a raw row changes at some load times, its moments. A row stands once
for each moment, and its ids are numbers that no other moment has: the high bits are the
moment, the low ones the id's place among all ids. So models that find rows by their ids
work out all moments at once, and none sees another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

# Before the first load time, in microseconds of UTC.
BEGINNING = -(2**63)
# A change of these alone makes no other row of it, nor does one of a time.
SAYS_NOTHING = {"created_by", "modified_by", "raw_id", "raw_row", "since"}


@dataclass(frozen=True)
class Table:
    """A raw table: its key, and the columns that name rows of other tables."""

    name: str
    key: str
    references: Mapping[str, str] = field(default_factory=dict)
    has_roles: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that hold ids."""
        return (self.key, *self.references)


def versions(history: DataFrame, table: Table) -> DataFrame:
    """Return of each row what it said one after another, each from `since` on.

    history  the staged rows, for each moment at which another delivery was the newest

    `decides` says whether it began or ended to count then, or named something else. A
    new name of a person gives and takes nothing.
    """
    types = dict(history.dtypes)
    said = [
        name
        for name in history.columns
        if name not in SAYS_NOTHING and not types[name].startswith("timestamp")
    ]
    deciding = [*table.references, *(["role_name"] if table.has_roles else [])]
    in_order = Window.partitionBy(table.key).orderBy("since")
    # All that does not count is the same.
    named = [F.when(F.col("is_live"), F.col(name)).alias(name) for name in deciding]

    def is_new(name: str) -> Column:
        return ~F.lag(name).over(in_order).eqNullSafe(F.col(name))

    return (
        history.withColumn("said", F.struct(*said))
        .withColumn("decided", F.struct("is_live", *named))
        .withColumn("is_new", is_new("said"))
        .withColumn("decides", is_new("decided"))
        .where("is_new")
        .drop("said", "decided", "is_new")
    )


class Moments:
    """The rows of some raw tables at all their moments."""

    def __init__(
        self, rows: Mapping[str, DataFrame], tables: Mapping[str, Table]
    ) -> None:
        self.tables = tables
        at = reduce(DataFrame.union, [frame.select("since") for frame in rows.values()])
        in_order = Window.orderBy("since")
        numbered = (
            at.distinct().withColumn("moment", _place(in_order)).localCheckpoint()
        )
        # There are as many as load times: few.
        self.times = [row.since for row in numbered.orderBy("moment").collect()]
        self.last = len(self.times) - 1
        self.rows = {
            name: self._numbered(frame, numbered, tables[name])
            for name, frame in rows.items()
        }
        ids = reduce(
            DataFrame.union,
            [
                frame.select(F.col(column).alias("id"))
                for name, frame in rows.items()
                for column in tables[name].ids
            ],
        )
        self.ids = (
            ids.where(F.col("id").isNotNull())
            .distinct()
            .withColumn("number", _place(Window.orderBy("id")))
            .localCheckpoint()
        )
        # One bit at least, so that the moment is never all there is.
        self.bits = max(self.ids.count(), 1).bit_length()

    def _numbered(
        self, frame: DataFrame, moments: DataFrame, table: Table
    ) -> DataFrame:
        """Give versions their first and last moment, by number."""
        next_one = F.lead("first").over(Window.partitionBy(table.key).orderBy("first"))
        return (
            frame.join(F.broadcast(moments), on="since", how="inner")
            .withColumnRenamed("moment", "first")
            .withColumn("last", F.coalesce(next_one - 1, F.lit(self.last)))
            .drop("since")
            .localCheckpoint()
        )

    def numbers(self, frame: DataFrame, column: str, number: str) -> DataFrame:
        """Give a frame the number of an id."""
        found = self.ids.select(
            F.col("id").alias(column), F.col("number").alias(number)
        )
        return frame.join(F.broadcast(found), on=column, how="left")

    def staged(self, name: str) -> DataFrame:
        """Return a staged table with a row for each moment, in ids of that moment."""
        table = self.tables[name]
        frame = self.rows[name]
        columns = [c for c in frame.columns if c not in ("decides", "first", "last")]
        for column in table.ids:
            frame = self.numbers(frame, column, f"{column}_number")
        frame = frame.withColumn("moment", F.explode(F.sequence("first", "last")))
        for column in table.ids:
            code = F.shiftleft(F.col("moment").cast("bigint"), self.bits).bitwiseOR(
                F.col(f"{column}_number")
            )
            frame = frame.withColumn(column, code)
        return frame.select(*columns)

    def moment(self, column: str | Column) -> Column:
        """Return the moment of an id of these rows."""
        return F.shiftright(column, self.bits)

    def number(self, column: str | Column) -> Column:
        """Return the number of an id of these rows."""
        value = F.col(column) if isinstance(column, str) else column
        return value.bitwiseAND(F.lit(2**self.bits - 1))

    def of_one_moment(self, frame: DataFrame, *columns: str) -> DataFrame:
        """Keep the rows whose ids are of one moment.

        A model may join rows by something else than ids: whoever holds a global role
        reaches all objects. As a condition of that join it costs nothing.
        """
        first, *others = columns
        for column in others:
            frame = frame.where(self.moment(first) == self.moment(column))
        return frame

    def moved(self) -> DataFrame:
        """Return when each row began or ended to count, or named something else.

        Output: raw_table, raw_id, number, moments (a list of numbers).
        """
        found = []
        for name, frame in self.rows.items():
            key = self.tables[name].key
            rows = (
                frame.where("decides")
                .groupBy(key)
                .agg(F.collect_list("first").alias("moments"))
            )
            found.append(
                self.numbers(rows, key, "number").select(
                    F.lit(name).alias("raw_table"),
                    F.col(key).alias("raw_id"),
                    F.col("number").cast("bigint"),
                    "moments",
                )
            )
        return reduce(DataFrame.union, found)

    def called(self, numbers: DataFrame, name: str, column: str) -> DataFrame:
        """Return the ids of numbers, and what their rows are called now, or were last.

        numbers  the numbers, in a column `number`
        name     the raw table of the rows
        column   that which names them

        Output: number, id, name.
        """
        key = self.tables[name].key
        when = F.when(F.col(column).isNotNull(), F.col("first"))
        names = (
            self.rows[name]
            .groupBy(F.col(key).alias("id"))
            .agg(F.max_by(column, when).alias("name"))
        )
        return self.ids.join(
            F.broadcast(numbers.distinct()), on="number", how="left_semi"
        ).join(names, on="id", how="left")


def _place(in_order: Window) -> Column:
    """Return the place of a row, from 0 on."""
    return (F.row_number().over(in_order) - 1).cast("bigint")
