"""What a reviewer asks for, read and checked; and what macros may call."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from access_review.pack import Pack, Row
from secure_config.errors import SentenceError
from secure_config.steering import without_steering

if TYPE_CHECKING:
    from dbt.adapters.base import BaseAdapter
    from pyspark.sql import SparkSession

    from access_timeline.days import Access

FOLDER = "review"
# Ten years; each month is laid beside the others.
MOST_MONTHS = 120
# A part of a result is read by the driver at once: into how many a large one is cut at
# most, and how large each may be before it is cut. And each of the many relations that
# are joined would be kept in the heap, in a page at least, until the query ends.
IN_LITTLE_MEMORY = {
    "spark.sql.adaptive.coalescePartitions.initialPartitionNum": "64",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4m",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
}


class ReviewError(SentenceError):
    """A review that can't be written."""


class AccessReviews:
    """Writes the pack of a review."""

    def __init__(self, adapter: BaseAdapter) -> None:
        self.adapter = adapter

    def stop(self, sentence: str) -> NoReturn:
        """Stop with one sentence, in which nothing steers the terminal."""
        raise ReviewError(without_steering(f"review: {sentence}"))

    def users(self, asked: Any, users: list[Row]) -> list[int]:
        """Return the ids of the users that are called so; stop if there is none."""
        if not users:
            self.stop(
                f"there is no live user with the id, login name or e-mail address"
                f" '{asked}'."
            )
        return [user["user_id"] for user in users]

    def months(self, asked: Any) -> int:
        """Return of how many months access is told, checked."""
        if isinstance(asked, bool) or not str(asked).isdecimal():
            self.stop(f"'months' is '{asked}', which is no whole number.")
        if int(asked) > MOST_MONTHS:
            self.stop(f"'months' is {int(asked)}: {MOST_MONTHS} are told at most.")
        return int(asked)

    def write(
        self,
        queries: dict[str, str],
        made: str,
        is_whole: bool,
        history: dict[str, Any] | None = None,
    ) -> Row:
        """Write the pack, row by row, and return its totals and its folder.

        queries   of objects, people and findings, each in the order of the objects,
                  and of users
        made      when and of what it is made
        is_whole  whether it is of everything
        history   what access over the months is told from, if it is: months, how many;
                  last, the day until which; parts, what macros tell a timeline;
                  not_told, tiers of the pack whose past is not told
        """
        pack, rows = self._pack(queries, made, is_whole)
        # Each has a page, and is held with its totals.
        objects = list(rows.pop("objects"))
        months = []
        if history and not history["not_told"]:
            months = self._access_over(history, objects, is_whole)
        not_told = history["not_told"] if history else []
        return pack.write(objects, **rows, months=months, months_not_told=not_told) | {
            "folder": str(pack.folder)
        }

    def write_people(self, queries: dict[str, str], made: str) -> list[str]:
        """Write the pages of some people, and return their paths.

        queries  of users, people and findings, each in the order of the users
        made     when and of what they are made
        """
        pack, rows = self._pack(queries, made)
        return [f"{pack.folder}/{page}.html" for page in pack.write_people(**rows)]

    def _access_over(
        self, history: dict[str, Any], objects: list[Row], is_whole: bool
    ) -> list[Access]:
        # Spark is needed here alone, and starts with the adapter.
        from pyspark.errors import PySparkException

        from access_timeline.days import access_on

        days = first_days(date.fromisoformat(history["last"]), history["months"])
        ids: dict[str, set[int]] = {}
        for each in objects:
            ids.setdefault(each["object_type"], set()).add(each["object_id"])
        parts, spark = history["parts"], self._session()
        try:
            return access_on(spark, days, ids, parts, are_all=is_whole)
        except PySparkException as problem:
            # The raw tables are read for it alone, and may not be there for who asks.
            self.stop(
                "access over the months can't be read from the raw tables:"
                f" {str(problem).splitlines()[0]} Without months, a pack needs none."
            )

    def _session(self) -> SparkSession:
        # Spark is needed here alone, and starts with the adapter.
        from dbt_spark_session.session import start_session
        from dbt_spark_session.submission import session_parameters

        return start_session(session_parameters(self.adapter.config.credentials))

    def _pack(
        self, queries: dict[str, str], made: str, is_whole: bool = True
    ) -> tuple[Pack, dict[str, Iterator[Row]]]:
        config, spark = self.adapter.config, self._session()
        folder = Path(config.project_root) / config.target_path / FOLDER
        rows = {name: streamed(spark, query) for name, query in queries.items()}
        return Pack(folder, made, is_whole), rows


def first_days(last: date, months: int) -> list[date]:
    """Return the first days of as many months, the last of them at most this day."""
    count = last.year * 12 + last.month - 1
    return [
        date(each // 12, each % 12 + 1, 1)
        for each in range(count - months + 1, count + 1)
    ]


def streamed(spark: SparkSession, query: str) -> Iterator[Row]:
    """Yield the rows of a query, of which one small part at a time is held.

    All of it is worked out first and lies on the disk: what a query is joined by would
    otherwise stay in memory until its last row is read, beside that of all others.
    """
    # Spark is needed here alone, and starts with the adapter.
    from pyspark import StorageLevel

    from dbt_spark_session.session import with_settings

    with with_settings(spark, IN_LITTLE_MEMORY):
        rows = spark.sql(query).localCheckpoint(storageLevel=StorageLevel.DISK_ONLY)
    for row in rows.toLocalIterator():
        yield row.asDict(recursive=True)


def access_reviews(adapter: BaseAdapter) -> AccessReviews:
    """Return what writes the pack of a review."""
    return AccessReviews(adapter)
