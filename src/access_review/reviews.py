"""What a reviewer asks for, read and checked; and what macros may call."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from access_review.pack import Pack, Row
from secure_config.errors import SentenceError, without_steering

if TYPE_CHECKING:
    from dbt.adapters.base import BaseAdapter
    from pyspark.sql import SparkSession

FOLDER = "review"
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

    def write(self, queries: dict[str, str], made: str, is_whole: bool) -> Row:
        """Write the pack, row by row, and return its totals and its folder.

        queries   of objects, people and findings, each in the order of the objects,
                  and of users
        made      when and of what it is made
        is_whole  whether it is of everything
        """
        pack, rows = self._pack(queries, made, is_whole)
        return pack.write(**rows) | {"folder": str(pack.folder)}

    def write_people(self, queries: dict[str, str], made: str) -> list[str]:
        """Write the pages of some people, and return their paths.

        queries  of users, people and findings, each in the order of the users
        made     when and of what they are made
        """
        pack, rows = self._pack(queries, made)
        return [f"{pack.folder}/{page}.html" for page in pack.write_people(**rows)]

    def _pack(
        self, queries: dict[str, str], made: str, is_whole: bool = True
    ) -> tuple[Pack, dict[str, Iterator[Row]]]:
        # Spark is needed here alone, and starts with the adapter.
        from dbt_spark_session.session import start_session
        from dbt_spark_session.submission import session_parameters

        config = self.adapter.config
        spark = start_session(session_parameters(config.credentials))
        folder = Path(config.project_root) / config.target_path / FOLDER
        rows = {name: streamed(spark, query) for name, query in queries.items()}
        return Pack(folder, made, is_whole), rows


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
