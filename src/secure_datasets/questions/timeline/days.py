"""Counts of access at the beginning of some days, from the raw deliveries."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from functools import reduce
from typing import TypedDict

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from dbt_secure_spark.session import with_settings
from secure_datasets.questions.timeline.answers import (
    SETTINGS,
    Replica,
    side_by_side,
    told_since,
)
from secure_datasets.questions.timeline.moments import Moments, local_rows
from secure_datasets.questions.timeline.selection import (
    USER,
    Facts,
    Rows,
    Selection,
    Table,
    object_tables,
    tables_of,
)

MICROS = 10**6


class Access(TypedDict):
    """The amount of access at the beginning of a day, in UTC.

    accesses  the number of pairs of a person and an object
    people    the number of persons with any access
    """

    day: date
    accesses: int
    people: int


def access_on(
    spark: SparkSession,
    days: Sequence[date],
    objects: Mapping[str, set[int]],
    parts: Facts,
    *,
    are_all: bool,
) -> list[Access]:
    """Return the amount of access to some objects at the beginning of days, in UTC.

    days     the days, in order
    objects  the ids of the objects, by their types
    parts    facts from macros: models, staged, tiers, seeds, queries, raw_tables,
             known_since
    are_all  whether these are most of all objects: if so, it reads all rows; if not,
             only the rows about these objects

    Output: one Access for each day, in order, without the days before the first load
    time, or before the past of a raw table is known.
    """
    with with_settings(spark, SETTINGS):
        tables = tables_of(parts["raw_tables"], parts["staged"])
        types = object_tables(parts["raw_tables"])
        replica = Replica(spark, parts["queries"], tables)
        if are_all:
            needed = replica.ids()
        else:
            selection = Selection(replica.lookup, tables, list(types.values()))
            asked: Rows = {types[kind]: ids for kind, ids in objects.items()}
            needed = selection.of_objects(asked) if any(asked.values()) else {}
        if not any(needed.values()):
            return []
        begins = [micros_of(day) for day in days]

        def chosen(rows: DataFrame, table: Table) -> DataFrame:
            return as_of_days(rows, table, begins)

        with side_by_side(replica, needed, parts, chosen) as (moments, frames):
            of_tiers = list(shown(frames, moments, objects, parts))
            found = counted(of_tiers) if of_tiers else {}
        first = replica.first_load()
        if first is not None:
            # A table of the present has no earlier past than its snapshots.
            first = max(first, told_since(parts) or first)
        # A day without anything new has the result of the day before.
        places = [bisect_right(moments.times, begin) - 1 for begin in begins]
        return [
            Access(day=day, accesses=accesses, people=people)
            for day, place in zip(days, places, strict=True)
            if first is not None and first <= micros_of(day)
            for accesses, people in [found.get(place, (0, 0))]
        ]


def micros_of(day: date) -> int:
    """Return the beginning of a day in UTC, in microseconds."""
    begin = datetime(day.year, day.month, day.day, tzinfo=timezone.utc)
    return int(begin.timestamp()) * MICROS


def as_of_days(rows: DataFrame, table: Table, begins: Sequence[int]) -> DataFrame:
    """Return the versions of rows at the beginning of days, each from its first day.

    rows    all versions of the rows, from `versions_query`
    begins  the beginnings of the days in microseconds, in order
    """
    days = F.array(*[F.lit(begin).cast("bigint") for begin in begins])
    first = F.get(F.filter(days, lambda begin: begin >= F.col("since")), F.lit(0))
    following = F.lead("day").over(Window.partitionBy(table.key).orderBy("since"))
    return (
        rows.withColumn("day", first)
        # A version after the last beginning belongs to no day.
        .where("day is not null")
        .withColumn("until", following)
        # If a day has several versions, the last one before its beginning counts.
        .where("not (day <=> until)")
        .withColumn("since", F.col("day"))
        .drop("day")
        .localCheckpoint()
    )


def counted(of_tiers: list[DataFrame]) -> dict[int, tuple[int, int]]:
    """Return the numbers of accesses and of people, by moment."""
    # Several tiers may give a user access to one data source: tables and results.
    access = reduce(DataFrame.union, of_tiers).distinct()
    of_moments = access.groupBy("moment").agg(
        F.count("*").alias("accesses"), F.countDistinct(USER).alias("people")
    )
    return {
        line["moment"]: (line["accesses"], line["people"])
        for line in of_moments.collect()
    }


def shown(
    frames: Mapping[str, DataFrame],
    moments: Moments,
    objects: Mapping[str, set[int]],
    parts: Facts,
) -> Iterator[DataFrame]:
    """Yield the access of users to the objects, by each tier's own right.

    Output: object_type, object_id and user_id, as numbers; moment.
    """
    types = object_tables(parts["raw_tables"])
    for tier in parts["tiers"].values():
        # A tier without rights gives no access to an object.
        for own in tier["rights"][:1]:
            kind, key = own["object_type"], own["key"]
            # An object that was never delivered has no number.
            ids = objects.get(kind, set()) & moments.ids.get(types.get(kind), set())
            if not ids:
                continue
            numbers = [[moments.number_of(each)] for each in sorted(ids)]
            wanted = local_rows(moments.spark, {"object_id": "bigint"}, numbers)
            access = frames[tier["view"]].select(
                F.lit(kind).alias("object_type"),
                moments.number(key).alias("object_id"),
                moments.number(USER).alias(USER),
                moments.moment(USER).alias("moment"),
            )
            yield access.join(F.broadcast(wanted), on="object_id", how="semi")
