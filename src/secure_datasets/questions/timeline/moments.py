"""The rows of all moments side by side.

The staged form of a raw row changes at some load times, its moments. A row stands once
for each moment, and its ids are numbers of this moment only: the high bits are the
moment, the low bits the id's place among all ids. So models that join rows by ids
compute all moments at once, and each moment reads its own rows only.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from secure_datasets.questions.timeline.selection import Table

IDS, TIMES, ROWS = "timeline_ids", "timeline_moments", "timeline_rows_"
COMPARED = ("said", "decided", "is_new")


def versions_query(history: str, table: Table) -> str:
    """Return the query of the successive versions of each row, each from `since` on.

    history  the query of the staged rows, for each moment at which another delivery was
             the newest

    `until` is where the next one begins, null for the last. `decides` says whether it
    began or ended to count then, or named something else. A new name of a person gives
    and takes nothing. `COMPARED` are what it is worked out by. It is one query, since
    Spark looks through all of it with each step that is added to a frame.
    """
    said = (*table.ids, *table.columns, "is_live", "rejection_reason")
    deciding = [*table.references, *(["role_name"] if table.has_roles else [])]
    # All versions that do not count are equal.
    decided = [f"case when is_live then {name} end as {name}" for name in deciding]
    return f"""
with history as (

{history}

),

compared as (

    select
        *,
        struct({", ".join(said)}) as said,
        struct({", ".join(["is_live", *decided])}) as decided
    from history

),

judged as (

    select
        *,
        not (lag(said) over in_order <=> said) as is_new,
        not (lag(decided) over in_order <=> decided) as decides
    from compared
    window in_order as (partition by {table.key} order by since)

)

select
    *,
    lead(since) over (partition by {table.key} order by since) as until
from judged
where is_new
"""


@contextmanager
def relation(name: str, frame: DataFrame) -> Iterator[None]:
    """Make a frame readable by this name within the context."""
    frame.createOrReplaceTempView(name)
    try:
        yield
    finally:
        frame.sparkSession.catalog.dropTempView(name)


def local_rows(
    spark: SparkSession, columns: Mapping[str, str], rows: Iterable[Sequence[Any]]
) -> DataFrame:
    """Return rows of the driver as a frame, without a job and without workers.

    columns  their names, with their types
    """
    document = [dict(zip(columns, row, strict=True)) for row in rows]
    types = ", ".join(f"{name}: {kind}" for name, kind in columns.items())
    query = f"select inline(from_json(:rows, 'array<struct<{types}>>'))"
    return spark.sql(query, args={"rows": json.dumps(document)})


def no_rows_of(frame: DataFrame) -> DataFrame:
    """Return an empty frame with a frame's columns, and without its plan."""
    columns = [f"cast(null as {kind}) as `{name}`" for name, kind in frame.dtypes]
    return frame.sparkSession.sql(f"select {', '.join(columns)} where false")


class Moments:
    """The rows of some raw tables at all their moments.

    rows      the result of versions(), or some of its rows, by table
    ids       the ids of the rows, by table
    versions  the result of versions(), which has all names, by table
    """

    def __init__(
        self,
        spark: SparkSession,
        rows: Mapping[str, DataFrame],
        ids: Mapping[str, set[int]],
        tables: Mapping[str, Table],
        versions: Mapping[str, DataFrame],
    ) -> None:
        self.spark = spark
        self.rows = rows
        self.versions = versions
        self.tables = tables
        self.ids = ids
        self._numbered = sorted(set().union(*ids.values()))
        at = [rows[name].select("since") for name, of_table in ids.items() if of_table]
        counted = reduce(DataFrame.union, at).groupBy("since").count().collect()
        # As many as load times: few.
        self.times = sorted(line["since"] for line in counted)
        self._place = {since: place for place, since in enumerate(self.times)}
        self.last = len(self.times) - 1
        # The most rows side by side.
        self.size = sum(line["count"] for line in counted) * len(self.times)
        # Table, id and moment of each row that its feed deleted.
        self.deletions: set[tuple[str, int, int]] = set()
        # Number 0 stands for all unknown ids.
        self.bits = len(self._numbered).bit_length()

    def number_of(self, row_id: int) -> int:
        """Return the number of an id."""
        return bisect_left(self._numbered, row_id) + 1

    def id_of(self, number: int) -> int:
        """Return the id that has a number."""
        return self._numbered[number - 1]

    @contextmanager
    def numbered(self) -> Iterator[None]:
        """Let queries read the numbers of ids and of moments."""
        columns = {"value": "bigint", "number": "bigint"}
        ids = [(each, place) for place, each in enumerate(self._numbered, 1)]
        times = local_rows(self.spark, columns, self._place.items())
        with (
            relation(TIMES, times),
            relation(IDS, local_rows(self.spark, columns, ids)),
        ):
            yield

    def staged(self, name: str) -> DataFrame:
        """Return a staged table with a row for each moment, in ids of that moment."""
        frame = self.rows[name]
        columns = [c for c in frame.columns if c not in ("decides", "since", "until")]
        if not self.ids.get(name):
            return frame.select(*columns)
        with relation(f"{ROWS}{name}", frame):
            return self.spark.sql(self._staged_query(name, columns)).localCheckpoint()

    def _staged_query(self, name: str, columns: Iterable[str]) -> str:
        """Return the query of a staged table, where the numbers can be read."""
        ids = self.tables[name].ids
        places = [f"ids_{place}" for place in range(len(ids))]
        code = {
            column: f"case when {column} is not null then"
            f" shiftleft(moment, {self.bits}) | coalesce({place}, 0) end as {column}"
            for column, place in zip(ids, places, strict=True)
        }
        # Spark 3 can't distinguish two reads of such a view without aliases.
        all_ids, all_times = (
            f"(select value as value, number as number from {view})"
            for view in (IDS, TIMES)
        )
        joins = "".join(
            f"left join {all_ids} as {place} on staged.{column} = {place}.value\n    "
            for column, place in zip(ids, places, strict=True)
        )
        numbers = "".join(f",\n        {place}.number as {place}" for place in places)
        return f"""
select
    {", ".join(code.get(column, column) for column in columns)}
from (
    select /*+ broadcast(begins, ends, {", ".join(places)}) */
        staged.*,
        explode(
            sequence(begins.number, coalesce(ends.number - 1, {self.last}L))
        ) as moment{numbers}
    from {ROWS}{name} as staged
    inner join {all_times} as begins on staged.since = begins.value
    left join {all_times} as ends on staged.until = ends.value
    {joins}) as moments
"""

    def moment(self, column: str | Column) -> Column:
        """Return the moment of an id of these rows."""
        return F.shiftright(column, self.bits)

    def number(self, column: str | Column) -> Column:
        """Return the number of an id of these rows."""
        value = F.col(column) if isinstance(column, str) else column
        return value.bitwiseAND(F.lit(2**self.bits - 1))

    def of_one_moment(self, frame: DataFrame, *columns: str) -> DataFrame:
        """Keep the rows whose ids are of one moment.

        A model may join rows without ids: a global role reaches all objects. As a
        condition of such a join this costs nothing.
        """
        first, *others = columns
        for column in others:
            frame = frame.where(self.moment(first) == self.moment(column))
        return frame

    def moved(self, wanted: Mapping[str, set[int]]) -> dict[tuple[str, int], set[int]]:
        """Return the moments when rows began or ceased to count, or changed their ids.

        wanted  the ids of rows, by table

        Output: the moments, by the table and id of the row.
        """
        found: dict[tuple[str, int], set[int]] = {}
        frames = [
            self._of_ids(self.rows, name, ids)
            .where("decides")
            .select(F.lit(name).alias("raw_table"), "id", "since", "is_deleted")
            for name, ids in wanted.items()
            if ids
        ]
        for line in reduce(DataFrame.union, frames).collect() if frames else ():
            moments = found.setdefault((line["raw_table"], line["id"]), set())
            moments.add(self._place[line["since"]])
            if line["is_deleted"]:
                place = self._place[line["since"]]
                self.deletions.add((line["raw_table"], line["id"], place))
        return found

    def names(
        self, wanted: Mapping[str, set[int]], columns: Mapping[str, str]
    ) -> dict[tuple[str, int], str | None]:
        """Return the current or last names of rows, by their table and id.

        wanted   the ids of rows, by table
        columns  the columns with a row's name, by table
        """
        when = F.when(F.col("name").isNotNull(), F.col("since"))
        frames = [
            self._of_ids(self.versions, name, ids)
            .withColumn("name", F.col(columns[name]))
            .groupBy("id")
            .agg(F.max_by("name", when).alias("name"))
            .select(F.lit(name).alias("raw_table"), "id", "name")
            for name, ids in wanted.items()
            if ids
        ]
        lines = reduce(DataFrame.union, frames).collect() if frames else ()
        return {(line["raw_table"], line["id"]): line["name"] for line in lines}

    def _of_ids(
        self, frames: Mapping[str, DataFrame], name: str, ids: set[int]
    ) -> DataFrame:
        """Return a table's rows with these ids, in a column `id`."""
        wanted = local_rows(self.spark, {"id": "bigint"}, [[each] for each in ids])
        rows = frames[name].withColumnRenamed(self.tables[name].key, "id")
        return rows.join(F.broadcast(wanted), on="id", how="semi")
